package update

import (
	"context"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// multiplied is a schedule whose rates are multiplied.
type multiplied struct {
	optimizers.Schedule
	by float64
}

func (m multiplied) At(step expr.Expr) expr.Expr { return m.Schedule.At(step).Times(m.by) }

// TestRateFactor: feeding a factor has the same effect on all groups as schedules multiplied by it, including weight
// decay and the reported rate.
func TestRateFactor(t *testing.T) {
	falling := optimizers.Exponential{Decay: optimizers.Decay{Initial: 0.5, Steps: 4, Rate: 0.5}}
	op := func(by float64) *optimizers.TrainOp {
		schedule := func(s optimizers.Schedule) optimizers.Schedule {
			if by == 1 {
				return s
			}
			return multiplied{s, by}
		}
		adam := optimizers.Adam(0)
		adam.LearningRate, adam.WeightDecay = schedule(falling), 0.25
		sgd := optimizers.SGD(0)
		sgd.LearningRate = schedule(optimizers.Constant(0.125))
		both := trainOp(adam, variable("a", 2))
		both.Groups = append(both.Groups, trainOp(sgd, variable("b", 2)).Groups...)
		return both
	}
	const factor = 1.5
	got, gotRate := runFactor(t, op(1), factor)
	want, wantRate := runFactor(t, op(factor), 0)
	if !slices.Equal(got, want) || gotRate != wantRate {
		t.Errorf("values %v with rate %v, expected %v with %v", got, gotRate, want, wantRate)
	}
	if plain, _ := runFactor(t, op(1), 0); slices.Equal(plain, want) {
		t.Error("the factor changes nothing")
	}
}

// runFactor makes steps with a factor, 0 for none. It returns variables a and b and the last rate.
func runFactor(t *testing.T, op *optimizers.TrainOp, factor float64) (values []float64, rate float64) {
	t.Helper()
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	must(t, err)
	defer vars.Close()
	b := graph.NewBuilder(graph.New())
	step := b.Placeholder("step", graph.Type{DType: tensor.Int64})
	env := Env{GlobalStep: step, Gradients: []lower.Value{{Output: b.Const("ga", vector(1, -2))}, {Output: b.Const("gb", vector(3, 1))}}}
	spec := engine.Spec{Feeds: []graph.Output{step}}
	if factor != 0 {
		env.RateFactor = b.Placeholder("factor", graph.TypeOf(tensor.Float64))
		spec.Feeds = append(spec.Feeds, env.RateFactor)
	}
	for _, g := range op.Groups {
		for _, v := range g.Variables {
			must(t, vars.Create(v.Name, vector(1, 2)))
		}
	}
	for _, s := range Slots(op) {
		x := tensor.New(s.Type.DType, s.Type.Shape.At(0)...)
		must(t, s.Init.Init(x, 0))
		must(t, vars.Create(s.Name, x))
	}
	applied, err := Emit(op, b, env)
	must(t, err)
	spec.Targets, spec.Fetches = applied.Targets, []graph.Output{applied.LearningRate}
	p, err := engine.Compile(b.Graph, spec, dev, vars, engine.Options{})
	must(t, err)
	defer p.Close()
	for i := range int64(5) {
		feeds := []*tensor.Tensor{tensor.Scalar(i), tensor.Scalar(factor)}
		must(t, p.Run(context.Background(), 1, feeds[:len(spec.Feeds)]))
	}
	for _, name := range []string{"a", "b"} {
		x, err := vars.Get(name)
		must(t, err)
		values = append(values, tensor.Values[float64](x)...)
	}
	return values, p.Value(0).Float(0)
}
