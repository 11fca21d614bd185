package distribute

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// Shards returns where the variables of a strategy are placed, sorted by name, once its
// programs are prepared. ops are the train ops of these programs.
func Shards(s Strategy, rc runconfig.RunConfig, ops ...*optimizers.TrainOp) []models.VariableShards {
	if p, ok := s.(*parameterServer); ok {
		return shardsOf(p.vars, slotsOfAll(ops), serverPlaces(p.plan, p.job.servers))
	}
	return shardsOf(s.Variables(), slotsOfAll(ops), here(rc))
}

// PlannedShards returns where variables would be placed by a strategy in the cluster that a
// RunConfig describes. declare declares the variables.
func PlannedShards(c Config, rc runconfig.RunConfig, declare func(put func(name string, t graph.Type, value Fill) error) error, programs ...TrainProgram) ([]models.VariableShards, error) {
	vars := &remoteVariables{}
	if err := declare(vars.Create); err != nil {
		return nil, err
	}
	var ops []*optimizers.TrainOp
	for _, p := range programs {
		ops = append(ops, p.Train)
	}
	if rc.NumWorkers() > 1 || rc.NumPS() > 0 {
		var err error
		if c.Strategy, err = c.InCluster(rc.NumWorkers(), rc.NumPS()); err != nil {
			return nil, err
		}
	}
	if !kinds[c.Name].servers {
		return shardsOf(vars, slotsOfAll(ops), here(rc)), nil
	}
	servers := tasks(rc.ClusterSpec(), runconfig.PS)
	if len(servers) == 0 {
		return nil, runconfig.Mistake(errNoServers)
	}
	plan, err := c.newPlan(vars, programs, len(servers), rc.NumWorkers())
	if err != nil {
		return nil, err
	}
	return shardsOf(vars, slotsOfAll(ops), serverPlaces(plan, servers)), nil
}

// errNoServers is the error of parameter_server in a cluster without parameter servers.
var errNoServers = errors.New("strategy parameter_server needs a cluster with ps tasks: set TF_CONFIG, or use `goestimator launch --ps 1`")

// rowsAt is the rows of a variable that a task has.
type rowsAt struct {
	lo, hi int
	task   string
}

// here returns the place of variables that this task has whole.
func here(rc runconfig.RunConfig) func(name string) []rowsAt {
	self := cluster.Task{Job: rc.TaskType(), Index: rc.TaskID()}
	if rc.ClusterSpec().Len() == 0 {
		self = cluster.Task{Job: "localhost"}
	}
	return func(string) []rowsAt { return []rowsAt{{hi: -1, task: self.String()}} }
}

// serverPlaces returns the places of variables on parameter servers. A slot is with its
// variable. Each part has a copy of what its group shares; the copy of the first one counts.
func serverPlaces(plan *ps.Plan, servers []cluster.Task) func(name string) []rowsAt {
	at := map[string][]rowsAt{GlobalStep: {{hi: -1, task: servers[0].String()}}}
	for _, u := range plan.Units() {
		v, task := &plan.Variables[u.Variable], servers[u.Server].String()
		rows := rowsAt{u.Lo, u.Hi, task}
		at[v.Name] = append(at[v.Name], rows)
		for _, s := range v.Slots {
			at[s.Name] = append(at[s.Name], rows)
		}
		for _, s := range v.Shared {
			if at[s.Name] == nil {
				at[s.Name] = []rowsAt{{hi: -1, task: task}}
			}
		}
	}
	return func(name string) []rowsAt { return at[name] }
}

func slotsOfAll(ops []*optimizers.TrainOp) map[string]bool {
	slots := map[string]bool{GlobalStep: true}
	for _, op := range ops {
		for name := range slotsOf(op) {
			slots[name] = true
		}
	}
	return slots
}

// shardsOf describes variables, sorted by name.
func shardsOf(vars Variables, slots map[string]bool, places func(name string) []rowsAt) []models.VariableShards {
	var out []models.VariableShards
	for _, name := range vars.Names() {
		t, _ := vars.Type(name)
		v := models.VariableShards{Name: name, DType: t.DType, Shape: t.Shape.At(0), Slot: slots[name]}
		at := places(name)
		for i, rows := range at {
			v.Shards = append(v.Shards, shardAt(v, rows))
			if len(at) > 1 {
				v.Shards[i].Name = fmt.Sprintf("%s/part_%d", name, i)
			}
		}
		out = append(out, v)
	}
	return out
}

// shardAt returns the shard with rows of a variable.
func shardAt(v models.VariableShards, rows rowsAt) models.Shard {
	s := models.Shard{Name: v.Name, Offset: make([]int, len(v.Shape)), Shape: slices.Clone(v.Shape), Task: rows.task}
	if len(v.Shape) > 0 && rows.hi >= 0 {
		s.Offset[0], s.Shape[0] = rows.lo, rows.hi-rows.lo
	}
	s.Bytes = int64(tensor.NumElements(s.Shape)) * int64(v.DType.Size())
	return s
}
