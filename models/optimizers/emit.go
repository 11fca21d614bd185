package optimizers

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// Env is what an update is emitted into a graph with.
type Env struct {
	GlobalStep graph.Output  // int64 scalar: the value at the start of the step
	Gradients  []lower.Value // of every variable, in the order of the groups; dense or sparse
}

// Applied is an emitted update.
type Applied struct {
	Targets      []*graph.Node // to be run in each step
	LearningRate graph.Output  // float64 scalar: the first group's rate in this step
}

// ErrStepFunction is returned for a TrainOp with a step function instead of groups.
var ErrStepFunction = errors.New("train op is a step function: it has no gradients to apply")

// Emit adds the update to b: accumulation, loss scale, transforms, and each
// variable's rule. Variables and slots are referred to by name; Slots says which must
// exist. Reads that the update makes, and those elsewhere in the graph, see the
// values at the start of the step. The global step is not changed. Variables
// that do not reach the loss are named in the log.
func (t *TrainOp) Emit(b *graph.Builder, e Env) (Applied, error) {
	if t.Step != nil {
		return Applied{}, fmt.Errorf("%w: %s", ErrStepFunction, t.Step.Function)
	}
	if err := t.check(e); err != nil {
		return Applied{}, err
	}
	for _, name := range t.Unreached { // here, not in Minimize: a model is built twice, its update emitted once
		slog.Warn("variable does not reach the loss and is not trained", "variable", name)
	}
	em := &emission{TrainOp: t, b: b, step: cast(b, "learning_rate/Cast", e.GlobalStep, tensor.Float64)}
	grads := e.Gradients
	if t.accumulates() {
		grads = em.accumulate(grads)
	}
	grads, scale, err := em.unscale(grads)
	if err != nil {
		return Applied{}, err
	}
	if grads, err = em.transform(grads); err != nil {
		return Applied{}, err
	}
	for i := range t.Groups {
		n := len(t.Groups[i].Variables)
		if err := em.group(i, grads[:n]); err != nil {
			return Applied{}, err
		}
		grads = grads[n:]
	}
	em.holdBack(scale.finite)
	for _, n := range em.rescaled(scale) {
		v := b.Variable(n.Variable, n.Value.Type())
		em.targets = append(em.targets, assign(b, "AssignVariableOp", scaleScope+"AssignVariableOp", v, n.Value))
	}
	if err := b.Err(); err != nil {
		return Applied{}, fmt.Errorf("emit update: %w", err)
	}
	return Applied{Targets: em.targets, LearningRate: em.rate}, nil
}

func (t *TrainOp) check(e Env) error {
	n := 0
	for i, g := range t.Groups {
		if g.Rule == nil || g.LearningRate == nil || len(g.Variables) == 0 {
			return fmt.Errorf("train op: group %d: expected variables, a rule and a learning rate", i)
		}
		if math.IsNaN(g.LearningRate.At(0)) {
			return fmt.Errorf("train op: group %d: learning rate %+v is NaN at step 0: expected positive periods, and one value more than boundaries", i, g.LearningRate)
		}
		n += len(g.Variables)
	}
	if n == 0 || n != len(e.Gradients) {
		return fmt.Errorf("train op: %d gradients for %d variables: expected one each, and at least one", len(e.Gradients), n)
	}
	if !e.GlobalStep.Valid() || e.GlobalStep.DType() != tensor.Int64 {
		return errors.New("train op: expected the global step, an int64 scalar")
	}
	return nil
}

// emission is the state of one Emit.
type emission struct {
	*TrainOp
	b       *graph.Builder
	step    graph.Output // float64
	rate    graph.Output
	targets []*graph.Node
	touched []resource
	due     graph.Output // bool: an update follows this batch; where gradients accumulate
}

// resource is a variable that the update changes.
type resource struct {
	name   string
	typ    graph.Type
	counts bool // updates, as Keras's iterations do
}

func (em *emission) touch(name string, t graph.Type) graph.Output {
	em.touched = append(em.touched, resource{name: name, typ: t})
	return em.b.Variable(name, t)
}

// group emits the updates of one group's variables.
func (em *emission) group(i int, grads []lower.Value) error {
	g := em.Groups[i]
	noDecay, err := regexp.Compile(g.NoDecay)
	if err != nil {
		return fmt.Errorf("train op: group %d: no_decay: %w", i, err)
	}
	c := calc{em.b, "learning_rate/"}
	rate := c.output(g.LearningRate.rate(c, num{out: em.step}))
	if !em.rate.Valid() {
		em.rate = rate
	}
	s := em.sharedState(i)
	var nodes []*graph.Node
	for j, v := range g.Variables {
		a := em.application(i, v, grads[j])
		a.state = s.state
		a.lr = a.cast(rate)
		var first []*graph.Node
		if g.WeightDecay != 0 && (g.NoDecay == "" || !noDecay.MatchString(v.Name)) {
			first = a.decay(g.WeightDecay)
		}
		last := g.Rule.update(a)
		for _, n := range last {
			n.Control = append(n.Control, first...)
		}
		nodes = append(append(nodes, first...), last...)
	}
	em.targets = append(append(em.targets, nodes...), s.advance(nodes)...)
	return nil
}

// application prepares the update of a variable, its gradient of the variable's type.
func (em *emission) application(group int, v *models.Variable, grad lower.Value) *application {
	label := em.Groups[group].Rule.traits().label
	a := &application{b: em.b, scope: label + "/update_" + v.Name + "/", v: v}
	grad = lower.Join(em.b, a.scope, grad)
	if a.grad.Output = grad.Output; grad.Sparse() {
		a.grad = gradient{grad.Slices[0].Rows, grad.Slices[0].Indices}
	}
	a.grad.Output = a.cast(a.grad.Output)
	em.touch(v.Name, v.Type())
	n := em.names(group)
	for j := range em.Groups[group].Rule.slots() {
		a.slots = append(a.slots, em.touch(n.slot(v, j), v.Type()))
	}
	return a
}

// decay takes lr*weight*w from the variable w: a descent whose gradient is w itself.
func (a *application) decay(weight float64) []*graph.Node {
	rate := a.binary("Mul", a.lr, a.scalar("weight_decay", weight))
	return []*graph.Node{a.b.Node("ResourceApplyGradientDescent", a.scope+"weight_decay/ResourceApplyGradientDescent", nil,
		graph.Attrs{"T": a.v.DType, "use_locking": false}, a.variable(), rate, a.value())}
}

// shared is the state of one group while it is emitted.
type shared struct {
	*state
	em    *emission
	group int
	scope string
	res   []graph.Output // resources of the powers, or of the iterations
}

func (em *emission) sharedState(group int) *shared {
	g, n := em.Groups[group], em.names(group)
	t := g.Rule.traits()
	s := &shared{state: &state{}, em: em, group: group, scope: t.label + "/"}
	for i := range t.powers {
		typ := graph.Type{DType: g.dtype()}
		s.res = append(s.res, em.touch(n.power(i), typ))
		s.powers = append(s.powers, em.b.Read(s.res[i], typ))
	}
	if t.keras {
		typ := graph.Type{DType: tensor.Int64}
		s.res = append(s.res, em.touch(n.iterations(), typ))
		em.touched[len(em.touched)-1].counts = true
		s.steps = cast(em.b, s.scope+"Cast", em.b.Read(s.res[0], typ), tensor.Float64)
	}
	return s
}

// advance brings the shared state to the next step, after all updates that use it.
func (s *shared) advance(after []*graph.Node) []*graph.Node {
	b := s.em.b
	var out []*graph.Node
	for i, beta := range s.em.Groups[s.group].Rule.traits().powers {
		d := s.em.Groups[s.group].dtype()
		next := b.Op("Mul", s.scope+"mul", graph.Type{DType: d}, graph.Attrs{"T": d}, s.powers[i], b.Scalar(s.scope+"beta", d, beta))
		out = append(out, assign(b, "AssignVariableOp", s.scope+"Assign", s.res[i], next, after...))
	}
	if s.steps.Valid() {
		out = append(out, assign(b, "AssignAddVariableOp", s.scope+"AssignAddVariableOp", s.res[0], b.Scalar(s.scope+"one", tensor.Int64, 1), after...))
	}
	return out
}
