package update

import (
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/optimizers"
	"log/slog"
	"math"
	"regexp"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// Env has the values that an update uses in a graph.
type Env struct {
	GlobalStep graph.Output   // int64 scalar: the value at the start of the step
	Gradients  []lower.Value  // for each variable, in the order of the groups; dense or sparse
	Changes    []graph.Output // next values of variables that are not the optimizer's
	RateFactor graph.Output   // float64 scalar that multiplies each group's rate; not Valid: 1
}

// Applied is an emitted update.
type Applied struct {
	Targets      []*graph.Node // to run in each step
	LearningRate graph.Output  // float64 scalar: the first group's rate in this step
	Finite       graph.Output  // bool: whether to apply Env.Changes; not Valid: always
}

// Emit adds the update to b: accumulation, loss scale, transforms, and each
// variable's rule. It refers to variables and slots by name; Slots lists those that must
// exist. Reads in the update, and elsewhere in the graph, see the
// values at the start of the step. The global step is not changed. Variables
// that do not reach the loss are logged.
func Emit(t *optimizers.TrainOp, b *graph.Builder, e Env) (Applied, error) {
	if t.Step != nil {
		return Applied{}, fmt.Errorf("%w: %s", optimizers.ErrStepFunction, t.Step.Function)
	}
	if err := check(t, e); err != nil {
		return Applied{}, err
	}
	for _, name := range t.Unreached { // here, not in Minimize: a model is built twice, but its update emitted once
		slog.Warn("variable does not reach the loss and is not trained", "variable", name)
	}
	em := &emission{TrainOp: t, b: b, step: b.Cast("learning_rate/Cast", e.GlobalStep, tensor.Float64), factor: e.RateFactor}
	grads := e.Gradients
	em.updates = em.step
	if accumulates(t) {
		grads = em.accumulate(grads)
	}
	grads, scale, err := em.unscale(grads)
	if err != nil {
		return Applied{}, err
	}
	scale.finite = em.allAre(scale.finite, grads, e.Changes)
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
	em.countSkipped(scale.finite)
	for _, n := range em.rescaled(scale) {
		v := b.Variable(n.Variable, n.Value.Type())
		em.targets = append(em.targets, rule.Assign(b, "AssignVariableOp", scaleScope+"AssignVariableOp", v, n.Value))
	}
	if err := b.Err(); err != nil {
		return Applied{}, fmt.Errorf("emit update: %w", err)
	}
	out := Applied{Targets: em.targets, LearningRate: em.rate}
	if t.SkipNonFinite > 0 {
		out.Finite = scale.finite
	}
	return out, nil
}

func check(t *optimizers.TrainOp, e Env) error {
	n := 0
	for i, g := range t.Groups {
		if g.Rule == nil || g.LearningRate == nil || len(g.Variables) == 0 {
			return fmt.Errorf("train op: group %d: expected variables, a rule and a learning rate", i)
		}
		if _, ok := g.Rule.(rule.Rule); !ok {
			return fmt.Errorf("train op: group %d: rule %s is a %T: expected one of a constructor or of NewRule", i, g.Rule.Name(), g.Rule)
		}
		if math.IsNaN(optimizers.RateAt(g.LearningRate, 0)) {
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
	*optimizers.TrainOp
	b       *graph.Builder
	step    graph.Output // float64
	updates graph.Output // float64: number of windows of batches that ended before this one
	factor  graph.Output // multiplies all rates; not Valid: 1
	rate    graph.Output
	targets []*graph.Node
	touched []resource
	due     graph.Output // bool: an update follows this batch; set if gradients accumulate
}

// resource is a variable that the update changes.
type resource struct {
	name   string
	typ    graph.Type
	counts bool // counts updates, like Keras's iterations
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
	rate := em.learningRate(g.LearningRate)
	if err := em.b.Err(); err != nil {
		return err
	}
	if !em.rate.Valid() {
		em.rate = rate
	}
	s := em.sharedState(i)
	var nodes []*graph.Node
	for j, v := range g.Variables {
		a := em.application(i, v, grads[j])
		a.State = s.State
		a.Exact, a.Rate = rate, em.b.Cast(a.Scope+"Cast", rate, v.DType)
		switch decays := g.WeightDecay != 0 && (g.NoDecay == "" || !noDecay.MatchString(v.Name)); {
		case decays && ruleOf(g).Traits().Decays:
			a.WeightDecay = g.WeightDecay
		case decays:
			a.Decayed = a.Decay(g.WeightDecay)
		}
		last := ruleOf(g).Update(a)
		for _, n := range last {
			n.Control = append(n.Control, a.Decayed...)
		}
		nodes = append(append(nodes, a.Decayed...), last...)
	}
	em.targets = append(append(em.targets, nodes...), s.advance(nodes)...)
	return nil
}

// learningRate adds a schedule, multiplied by the common factor.
func (em *emission) learningRate(s optimizers.Schedule) graph.Output {
	const step = "step"
	e := rule.Emission{B: em.b, Scope: "learning_rate/", Tensor: rule.Scalar, Inputs: map[string]graph.Output{step: em.step}}
	p := expr.Trace(s.At(expr.Input(step)))
	for _, name := range p.Inputs() {
		if _, waits, _ := optimizers.PlateauOf(s); waits && name == optimizers.PlateauInput {
			e.Inputs[name] = em.b.Read(em.b.Variable(PlateauShare, rule.Scalar), rule.Scalar)
			continue
		}
		if name != step {
			em.b.Fail(fmt.Errorf("learning rate %T: unknown input %q: expected one of the step alone", s, name))
			return graph.Output{}
		}
	}
	rate := e.Emit(p)[0]
	if !em.factor.Valid() {
		return rate
	}
	return em.b.Op("Mul", "learning_rate/Mul", rate.Type(), graph.Attrs{"T": tensor.Float64}, rate, em.factor)
}

// application prepares the update of a variable, with the gradient in the variable's type.
func (em *emission) application(group int, v *models.Variable, grad lower.Value) *rule.Application {
	r := ruleOf(em.Groups[group])
	a := &rule.Application{B: em.b, Scope: r.Traits().Label + "/update_" + v.Name + "/", V: v, Step: em.step, Updates: em.updates}
	grad = lower.Join(em.b, a.Scope, grad)
	if a.Grad.Output = grad.Output; grad.Sparse() {
		a.Grad = rule.Gradient{Output: grad.Slices[0].Rows, Indices: grad.Slices[0].Indices}
	}
	a.Grad.Output = em.b.Cast(a.Scope+"Cast", a.Grad.Output, v.DType)
	t := graph.TypeOf(v.DType, v.Shape...)
	em.touch(v.Name, t)
	n := namesOf(em.TrainOp, group)
	for j := range r.Slots() {
		a.Slots = append(a.Slots, em.touch(n.slot(v, j), t))
	}
	return a
}

// shared is the state of one group while it is emitted.
type shared struct {
	*rule.State
	em    *emission
	group int
	scope string
	res   []graph.Output // resources of the powers, or the iterations
}

func (em *emission) sharedState(group int) *shared {
	g, n := em.Groups[group], namesOf(em.TrainOp, group)
	t := ruleOf(g).Traits()
	s := &shared{State: &rule.State{}, em: em, group: group, scope: t.Label + "/"}
	for i := range t.Powers {
		typ := graph.TypeOf(dtypeOf(g))
		s.res = append(s.res, em.touch(n.power(i), typ))
		s.Powers = append(s.Powers, em.b.Read(s.res[i], typ))
	}
	if t.Keras {
		typ := graph.TypeOf(tensor.Int64)
		s.res = append(s.res, em.touch(n.iterations(), typ))
		em.touched[len(em.touched)-1].counts = true
		s.Steps = em.b.Cast(s.scope+"Cast", em.b.Read(s.res[0], typ), tensor.Float64)
	}
	return s
}

// advance brings the shared state to the next step, after all updates that use it.
func (s *shared) advance(after []*graph.Node) []*graph.Node {
	b := s.em.b
	var out []*graph.Node
	for i, beta := range ruleOf(s.em.Groups[s.group]).Traits().Powers {
		d := dtypeOf(s.em.Groups[s.group])
		next := b.Op("Mul", s.scope+"mul", graph.Type{DType: d}, graph.Attrs{"T": d}, s.Powers[i], b.Scalar(s.scope+"beta", d, beta))
		out = append(out, rule.Assign(b, "AssignVariableOp", s.scope+"Assign", s.res[i], next, after...))
	}
	if s.Steps.Valid() {
		out = append(out, rule.Assign(b, "AssignAddVariableOp", s.scope+"AssignAddVariableOp", s.res[0], b.Scalar(s.scope+"one", tensor.Int64, 1), after...))
	}
	return out
}
