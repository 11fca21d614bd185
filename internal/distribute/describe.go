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

// ErrDiffer is in the chain of errors that say that a task has another model or
// other hyper-parameters than its job: a mistake, which does not help to try again.
var ErrDiffer = settings.ErrDiffer

// Terms are what tasks that train together have in common besides the program.
type Terms struct {
	MaxSteps int64  // the global step that training ends at; 0: none is given
	Batch    int    // rows of one step over all replicas in sync; 0: it is not known
	Seed     string // "" where each task may draw its own
}

// maxSteps is the name of the setting that a chief which starts again may raise.
const maxSteps = "max_steps"

// describe lists what a training is, the most telling first, for the tasks of a job to
// compare: what decides which numbers come out, and nothing of the host.
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

// describeAll is describe of a training that has several programs.
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

// orNone is how messages show a value that may not be given.
func orNone(v string) string {
	if v == "" || v == "0" {
		return "none"
	}
	return v
}

// describeStrategy adds what of a strategy decides over the numbers, or over who waits for whom.
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

// plain is a rule or a setting as Go writes it, without the package's name.
func plain(v any) string {
	return strings.NewReplacer("optimizers.", "", "rule.", "").Replace(fmt.Sprintf("%#v", v))
}

// describeSchedule is a schedule as Go writes it, or its formula's digest where it is a user's own.
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

// graphDigest is that of what the program computes, however its nodes are named and ordered.
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
