package distribute

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Function is a step function of a strategy, built once for any batch.
type Function struct {
	strategy *Strategy
	name     string
	mode     models.Mode
	traced   *traced
	updates  []metricUpdate
	stepper  strategies.Stepper

	parts  []strategies.Batch // of the current run
	own    []strategies.Batch // memory for parts that are not from an Iterator
	result Result
}

// traced is the result of a function's Build.
type traced struct {
	*trace.Tracing
	outputs   Outputs
	args      []arg
	feeds     []graph.Output
	variables []*models.Variable
	names     []string // of fetches
	fetches   []graph.Output
	effects   trace.Effects
}

// metricUpdate says which results update a metric.
type metricUpdate struct {
	metric *Metric
	operands
}

// operands says which fetches are a metric's operands.
type operands struct {
	metric string
	first  int
	count  int
}

// Function builds a function for a mode, on which batch normalization, dropout and others
// depend. The name must be unique within the strategy.
func (s *Strategy) Function(name string, mode models.Mode, build Build) (*Function, error) {
	f, err := s.function(name, mode, build)
	if err == nil {
		err = f.bindMetrics()
	}
	if err == nil && !f.trains() {
		_, err = s.Remote(remotePrediction+name, f.runBatch)
	}
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	s.functions = append(s.functions, f)
	return f, nil
}

func (s *Strategy) function(name string, mode models.Mode, build Build) (*Function, error) {
	switch {
	case s.opened:
		return nil, ErrBuilt
	case name == "" || build == nil:
		return nil, errors.New("expected a name and a text")
	case slices.ContainsFunc(s.functions, func(f *Function) bool { return f.name == name }):
		return nil, errors.New("the strategy has another one of that name")
	case mode != models.Train && mode != models.Eval && mode != models.Predict:
		return nil, fmt.Errorf("mode %q: expected %q, %q or %q", mode, models.Train, models.Eval, models.Predict)
	}
	first, err := s.trace(mode, build, trace.FirstBatch)
	if err != nil {
		return nil, err
	}
	second, err := s.trace(mode, build, trace.SecondBatch)
	if err != nil {
		return nil, err
	}
	if err := trace.Unify(first.Tracing, second.Tracing); err != nil {
		return nil, err
	}
	f := &Function{strategy: s, name: name, mode: mode, traced: second}
	f.result.function = f
	return f, s.addVariables(f)
}

// trace runs build at one batch size.
func (s *Strategy) trace(mode models.Mode, build Build, batch int) (*traced, error) {
	t := &traced{}
	_, err := models.Build(models.Options{Mode: mode, Batch: batch, Seed: s.seed, DType: s.dtype}, func(b *models.Builder) (err error) {
		c := &Context{Builder: b, replicas: s.NumReplicasInSync()}
		if t.outputs, err = build(c); err != nil {
			return err
		}
		if b.Failed() {
			return b.Err()
		}
		if err := t.outputs.check(mode); err != nil {
			return err
		}
		if len(b.RaggedInputs()) > 0 || len(b.Inputs()) != len(c.args) {
			return errors.New("an input that is no argument: declare each by Arg")
		}
		return t.lower(c)
	})
	return t, err
}

// check reports outputs that do not fit the mode.
func (o Outputs) check(mode models.Mode) error {
	switch {
	case mode == models.Train && (o.Train == nil || o.Loss == nil):
		return errors.New("a function that trains needs a loss and what minimises it: see optimizers.Optimizer.Minimize")
	case mode != models.Train && o.Train != nil:
		return fmt.Errorf("mode %q: only functions of mode %q train", mode, models.Train)
	case o.Loss != nil && o.Loss.Shape().TotalSize() != 1:
		return fmt.Errorf("the loss must be a scalar, it has the shape %v", o.Loss.Shape())
	case o.Train != nil:
		if _, waits, _ := o.Train.Plateau(); waits {
			return errors.New("the learning rate waits for a plateau of evaluations: expected another schedule, an Estimator has such ones")
		}
		return o.Train.Check()
	}
	return nil
}

// lower translates the nodes to the intermediate representation.
func (t *traced) lower(c *Context) (err error) {
	t.args, t.variables = c.args, c.Variables()
	if t.Tracing, err = trace.New(c.Builder, t.outputs.Train); err != nil {
		return err
	}
	t.feeds = make([]graph.Output, len(c.nodes))
	for i, n := range c.nodes {
		t.feeds[i] = t.Leaves[n]
		t.Move(&t.feeds[i])
	}
	var nodes []*G.Node
	for _, name := range sortedKeys(t.outputs.Values) {
		t.names, nodes = append(t.names, name), append(nodes, t.outputs.Values[name])
	}
	for _, name := range sortedKeys(t.outputs.Metrics) {
		for i, n := range t.outputs.Metrics[name] {
			t.names, nodes = append(t.names, fmt.Sprintf("metric %s, operand %d", name, i)), append(nodes, n)
		}
	}
	if t.outputs.Loss != nil {
		t.names, nodes = append(t.names, lossName), append(nodes, t.outputs.Loss)
	}
	t.fetches = make([]graph.Output, len(nodes))
	for i, n := range nodes {
		if n == nil {
			return fmt.Errorf("%s is nil: expected a node", t.names[i])
		}
		t.Add(n, t.names[i], &t.fetches[i])
	}
	if t.outputs.Train != nil {
		t.effects = t.Effects(c.Builder, t.outputs.Train)
	}
	return t.Lower(c.Builder)
}

// lossName is the name of the loss among a function's results.
const lossName = "loss"

// bindMetrics finds the metrics that each run updates.
func (f *Function) bindMetrics() error {
	for _, o := range f.traced.metricOperands() {
		m := f.strategy.metric(o.metric)
		if m == nil {
			return fmt.Errorf("metric %q is not the strategy's: make it by Strategy.Metric first", o.metric)
		}
		f.updates = append(f.updates, metricUpdate{m, o})
	}
	return nil
}

// metricOperands returns the operands of all metrics, in the order of their names.
func (t *traced) metricOperands() (all []operands) {
	at := len(t.outputs.Values)
	for _, name := range sortedKeys(t.outputs.Metrics) {
		n := len(t.outputs.Metrics[name])
		all = append(all, operands{name, at, n})
		at += n
	}
	return all
}

// Name returns the function's name.
func (f *Function) Name() string { return f.name }

// trains reports whether a run of the function is a step.
func (f *Function) trains() bool { return f.mode == models.Train }

// program returns the program that the strategy compiles.
func (f *Function) program() strategies.Program {
	return strategies.Program{Graph: f.traced.Graph, Feeds: f.traced.feeds, Fetches: f.traced.fetches}
}

// training returns the program that the strategy compiles for a training function.
func (f *Function) training() strategies.TrainProgram {
	t := f.traced
	p := t.effects.Program(f.program(), t.outputs.Train)
	p.GlobalStep, p.Loss = t.Step, t.fetches[len(t.fetches)-1]
	p = trace.Guarded(p)
	p.Terms = f.strategy.terms()
	if p.Rows = 1; p.Train.Step != nil {
		p.Rows = 0 // a step function gets each replica's result
	} else if p.Terms.Batch > 0 {
		p.Rows = max(p.Terms.Batch/f.strategy.NumReplicasInSync(), 1)
	}
	return p
}

// fetch returns the index of a result.
func (f *Function) fetch(name string) int { return slices.Index(f.traced.names, name) }

// compile makes the function's program; the variables exist.
func (f *Function) compile() (err error) {
	if f.trains() {
		f.stepper, err = f.strategy.inner.Train(f.training())
	} else {
		f.stepper, err = f.strategy.inner.Infer(f.program())
	}
	if err != nil {
		return fmt.Errorf("function %s: %w", f.name, err)
	}
	return nil
}

// sameType reports whether two variables can be the same one.
func sameType(a, b *models.Variable) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape)
}

// typeOf returns the type of a variable.
func typeOf(v *models.Variable) graph.Type { return graph.TypeOf(v.DType, v.Shape...) }

var stepType = graph.Type{DType: tensor.Int64}
