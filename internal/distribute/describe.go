package distribute

import (
	"cmp"
	"fmt"
	"github.com/goestimator/goestimator/models/expr"
	"reflect"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// ErrDiffer is wrapped by errors saying that a task has another model or other
// hyper-parameters than its job. This is a mistake: trying again does not help.
var ErrDiffer = settings.ErrDiffer

// Terms are what tasks that train together have in common, in addition to the program.
type Terms struct {
	MaxSteps int64  // the global step at which training ends; 0: not set
	Batch    int    // rows of one step over all replicas in sync; 0: unknown
	Seed     string // "" if each task may draw its own
}

// maxSteps is the name of the setting that a restarted chief may raise.
const maxSteps = "max_steps"

// describe lists the settings of a training for the tasks of a job to compare, the most
// telling first: everything that affects the results, and nothing about the host.
func describe(p TrainProgram, c Config, vars Variables) []settings.Setting {
	var out []settings.Setting
	add := func(name string, value any) {
		out = append(out, settings.Setting{Name: name, Value: fmt.Sprint(value)})
	}
	describeUpdate(p.Train, add)
	add("batch_size", orNone(strconv.Itoa(p.Terms.Batch)))
	add("seed", orNone(p.Terms.Seed))
	add("precision", orNone(c.Precision))
	describeStrategy(c, add)
	add("graph", graphDigest(p))
	slots := slotsOf(p.Train)
	for _, name := range vars.Names() {
		if t, _ := vars.Type(name); !slots[name] {
			add("variable "+name, fmt.Sprintf("%v%v", t.DType, t.Shape))
		}
	}
	return out
}

// describeAll is describe for a training with several programs.
func describeAll(programs []TrainProgram, c Config, vars Variables) []settings.Setting {
	var out []settings.Setting
	for i, p := range programs {
		for _, x := range describe(p, c, vars) {
			if i > 0 {
				x.Name = fmt.Sprintf("%s of function %d", x.Name, i)
			}
			out = append(out, x)
		}
	}
	return out
}

// orNone formats a value that may not be set.
func orNone(v string) string {
	if v == "" || v == "0" {
		return "none"
	}
	return v
}

// describeStrategy adds the settings of a strategy that affect results, or which tasks wait for each other.
func describeStrategy(c Config, add func(name string, value any)) {
	switch c.Name {
	case "multi_worker_mirrored":
		add("replicas of each worker", c.localReplicas())
		add("bytes_per_pack", c.BytesPerPack)
		add("distributed_eval", c.DistributedEval)
		if c.Elastic.Enabled() {
			add("elastic.batch", cmp.Or(c.Elastic.Batch, runconfig.GlobalBatch))
			add("elastic.scale_lr", cmp.Or(c.Elastic.ScaleLR, runconfig.ScaleNone))
		}
	case "parameter_server":
		add("sync", c.Sync)
		add("replicas_to_aggregate", c.ReplicasToAggregate)
		add("staleness_bound", c.StalenessBound)
		add("transfer", orNone(c.Transfer))
		cut := c.Partitioner
		cut.Kind = cmp.Or(cut.Kind, defaultPartitioner)
		add("partitioner", fmt.Sprintf("%+v", cut))
		add("placement", c.placement())
	}
}

// describeUpdate adds how gradients change variables, by the names of config files.
func describeUpdate(t *optimizers.TrainOp, add func(name string, value any)) {
	if t.Step != nil {
		add("step_function", t.Step.Function)
		add("step_function config", settings.Digest(t.Step.Config))
		return
	}
	for i, g := range t.Groups {
		of := ""
		if len(t.Groups) > 1 {
			of = fmt.Sprintf(" of group %d", i)
		}
		add("optimizer"+of, plain(g.Rule))
		add("learning_rate"+of, describeSchedule(g.LearningRate))
		add("weight_decay"+of, g.WeightDecay)
		add("weight_decay_exclude"+of, orNone(g.NoDecay))
		if of != "" {
			add("variables"+of, variableNames(g))
		}
	}
	clips := []string{}
	for _, x := range t.Transforms {
		clips = append(clips, fmt.Sprintf("%s %g", x.Kind, x.Limit))
	}
	add("clip", orNone(strings.Join(clips, ", ")))
	add("accumulate_steps", max(t.AccumulateSteps, 1))
	add("loss_scale", plain(t.LossScale))
	add("skip_nonfinite", t.SkipNonFinite)
	add("slot_names", orNone(string(t.SlotNames)))
}

// plain formats a rule or a setting as Go does, without the package's name.
func plain(v any) string {
	return strings.NewReplacer("optimizers.", "", "rule.", "").Replace(fmt.Sprintf("%#v", v))
}

// describeSchedule formats a schedule as Go does, or a custom one as the digest of its formula.
func describeSchedule(s optimizers.Schedule) string {
	if w, ok := s.(optimizers.Warmup); ok && w.Then != nil {
		return fmt.Sprintf("Warmup{Steps:%d, Then:%s}", w.Steps, describeSchedule(w.Then))
	}
	if reflect.TypeOf(s).PkgPath() == reflect.TypeFor[optimizers.Warmup]().PkgPath() {
		return plain(s)
	}
	return "formula " + settings.Digest(fmt.Append(nil, expr.Trace(s.At(expr.Input("step")))))
}

func variableNames(g optimizers.Group) string {
	var names []string
	for _, v := range g.Variables {
		names = append(names, v.Name)
	}
	return strings.Join(names, " ")
}

// graphDigest returns a digest of what the program computes, independent of the names and the order of its nodes.
func graphDigest(p TrainProgram) string {
	d := digester{seen: map[*graph.Node]string{}}
	var text strings.Builder
	put := func(what string, outputs ...graph.Output) {
		fmt.Fprintln(&text, what)
		for _, o := range outputs {
			fmt.Fprintln(&text, d.output(o))
		}
	}
	put("loss", p.Loss)
	for i, g := range p.Gradients {
		put(fmt.Sprint("gradient ", i, g.Sparse()), g.Outputs()...)
	}
	put("args", p.Args...)
	for _, u := range p.Updates {
		put("update "+u.Variable, u.Value)
	}
	return fmt.Sprintf("%s of %d nodes", settings.Digest([]byte(text.String())), len(d.seen))
}
