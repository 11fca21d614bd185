package distribute

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// newPlan returns the plan for declared variables in a cluster with these numbers of parameter servers and workers.
func (c Config) newPlan(vars *remoteVariables, programs []TrainProgram, servers, workers int) (*ps.Plan, error) {
	var ops []*optimizers.TrainOp
	for _, t := range programs {
		ops = append(ops, t.Train)
	}
	joined, err := optimizers.Join(ops...)
	if err != nil {
		return nil, runconfig.Mistake(err)
	}
	train := *joined
	partitioner, err := partitionerOf(c.Partitioner, servers)
	if err != nil {
		return nil, runconfig.Mistake(err)
	}
	if !c.Sync {
		if train.AccumulateSteps > 1 && len(train.Transforms) > 0 {
			return nil, runconfig.Mistake(errors.New("a clip of gradients that are accumulated needs their sum, which asynchronous workers do not have: leave one of both out, or use multi_worker_mirrored"))
		}
		train.Transforms = nil // workers clip
	}
	return ps.NewPlan(c.modelVariables(vars, slotsOf(joined)), ps.Config{Servers: servers, Partitioner: partitioner, Placement: c.placement(), Train: &train,
		Sync: c.syncOf(workers), Staleness: c.StalenessBound, Settings: settings.Make(describeAll(programs, c, vars))})
}

// modelVariables returns the variables that are not slots: in the order of creation if their
// placement depends on it, else sorted.
func (c Config) modelVariables(vars *remoteVariables, slots map[string]bool) []*models.Variable {
	names := vars.Names()
	if c.placement() == ps.RoundRobin {
		names = vars.order
	}
	var list []*models.Variable
	for _, name := range names {
		if !slots[name] {
			typ := vars.declared[name].typ
			list = append(list, &models.Variable{Name: name, DType: typ.DType, Shape: typ.Shape.At(0)})
		}
	}
	return list
}

// placement returns the rule by which parts are placed on servers.
func (c Config) placement() ps.Placement { return ps.Placement(cmp.Or(c.Placement, runconfig.BySize)) }

// syncOf returns how gradients of that many workers are aggregated, nil if each is applied separately.
func (c Config) syncOf(workers int) *ps.Sync {
	if !c.Sync {
		return nil
	}
	n := max(workers, 1)
	aggregate := cmp.Or(c.ReplicasToAggregate, n)
	return &ps.Sync{Aggregate: aggregate, Workers: max(n, aggregate)}
}

// slotsOf returns the variables that are not the model's: the optimizer's, and the global step.
func slotsOf(t *optimizers.TrainOp) map[string]bool {
	slots := map[string]bool{GlobalStep: true}
	for _, s := range update.Slots(t) {
		slots[s.Name] = true
	}
	return slots
}

const (
	defaultPartitioner = "min_size"
	minShardBytes      = 256 << 10 // as in tf.distribute's MinSizePartitioner
	maxShardBytes      = 64 << 20
)

// partitionerOf returns the partitioner for a config.
func partitionerOf(c runconfig.Partitioner, servers int) (ps.Partitioner, error) {
	p := byName{of: c.Variables}
	for _, v := range c.Variables {
		one, err := partitionerOfAll(v.Partitioner(), servers)
		if err != nil {
			return nil, err
		}
		p.partitioners = append(p.partitioners, one)
	}
	var err error
	p.rest, err = partitionerOfAll(c, servers)
	return p, err
}

// byName splits a variable by the first partitioner that fits its name.
type byName struct {
	of           []runconfig.VariablePartitioner
	partitioners []ps.Partitioner // likewise
	rest         ps.Partitioner
}

// Partitions asks the variable's partitioner.
func (b byName) Partitions(name string, t tensor.DType, shape []int) int {
	for i, v := range b.of {
		if v.Fits(name) {
			return b.partitioners[i].Partitions(name, t, shape)
		}
	}
	return b.rest.Partitions(name, t, shape)
}

// partitionerOfAll returns the partitioner for variables of any name. By default it does not make small parts.
func partitionerOfAll(c runconfig.Partitioner, servers int) (ps.Partitioner, error) {
	switch kind := cmp.Or(c.Kind, defaultPartitioner); kind {
	case "none":
		return ps.NoPartitions{}, nil
	case "fixed_shards":
		return ps.FixedShards(cmp.Or(c.Shards, servers)), nil
	case "min_size":
		return ps.MinSize{Bytes: cmp.Or(c.Bytes, minShardBytes), Shards: cmp.Or(c.Shards, servers)}, nil
	case "max_size":
		return ps.MaxSize{Bytes: cmp.Or(c.Bytes, maxShardBytes), Shards: c.Shards}, nil
	default:
		return nil, fmt.Errorf("unknown partitioner %q: expected none, fixed_shards, min_size or max_size", kind)
	}
}
