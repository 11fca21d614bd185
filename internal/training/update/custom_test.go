package update

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// ownAdam is Keras' Adam, written as a user would write it.
func ownAdam(beta1, beta2, epsilon float64) optimizers.Rule {
	return optimizers.NewRule("OwnAdam", func(u *optimizers.Update) {
		m, v, t := u.Slot("m", 0), u.Slot("v", 0), u.Step().Plus(1)
		nextM := m.Times(beta1).Add(u.Gradient().Times(1 - beta1))
		nextV := v.Times(beta2).Add(u.Gradient().Square().Times(1 - beta2))
		one := expr.Number(1)
		rate := u.LearningRate().Mul(one.Sub(expr.Number(beta2).Pow(t)).Sqrt()).Div(one.Sub(expr.Number(beta1).Pow(t)))
		u.Assign(m, nextM)
		u.Assign(v, nextV)
		u.Assign(u.Variable(), u.Variable().Sub(rate.Mul(nextM).Div(nextV.Sqrt().Plus(epsilon))))
	})
}

// devices are the ways to run an update: the variable's type and the allowed difference.
var devices = map[string]struct {
	open      func(t *testing.T) device.Device
	d         tensor.DType
	tolerance float64
}{
	"host": {func(*testing.T) device.Device { return device.NewHost() }, tensor.Float64, 1e-12},
	"fake": {func(*testing.T) device.Device { return device.NewFake() }, tensor.Float32, 1e-5},
	"gpu":  {gpu, tensor.Float32, 1e-5},
}

// TestOwnRuleIsAdam: a user's rule and the built-in one make the same steps, on every device, dense and sparse, with weight decay.
func TestOwnRuleIsAdam(t *testing.T) {
	in := readAnswers(t)
	for name, dev := range devices {
		t.Run(name, func(t *testing.T) {
			for kind, g := range map[string]gradients{"dense": in.Dense, "sparse": in.Sparse} {
				run := func(o *optimizers.Optimizer) []float64 {
					v := &models.Variable{Name: "w", DType: dev.d, Shape: g.Shape, Trainable: true}
					return combination{}.run(t, dev.open(t), trainOp(o, v), g).W
				}
				decay := []optimizers.Option{optimizers.WithWeightDecay(0.125), optimizers.WithSchedule(optimizers.Exponential{Decay: optimizers.Decay{Initial: 0.25, Steps: 4, Rate: 0.5}})}
				want := run(optimizers.Adam(0, append(decay, optimizers.WithKeras(), optimizers.WithEpsilon(1e-3))...))
				near(t, kind, run(optimizers.Of(ownAdam(0.9, 0.999, 1e-3), 0, decay...)), want, dev.tolerance)
			}
		})
	}
}

// TestOwnRuleOps computes every op of expressions on every device, each on scalars and on elements, in separate slots.
func TestOwnRuleOps(t *testing.T) {
	f := func(w, g, lr, step expr.Expr) map[string]expr.Expr {
		p := g.Abs().Plus(0.5) // above 0
		return map[string]expr.Expr{
			"arithmetic": w.Add(g).Sub(g.Times(3)).Mul(p).Div(lr.Plus(1)).Neg(),
			"limits":     w.Min(g).Max(lr).Plus(2),
			"powers":     p.Pow(lr).Add(p.Sqrt()).Add(g.Square()),
			"waves":      g.Sin().Add(g.Cos()).Add(g.Tanh()).Add(p.Log()).Add(g.Exp()),
			"steps":      g.Sign().Add(w.Floor()).Add(step.Div(lr.Plus(3)).Floor()),
			"norms":      g.Div(g.Norm().Max(expr.Number(0.25))).Mul(lr.Norm()),
			"choice":     expr.WhenLess(w, g, lr, g.Times(2)),
			"by step":    expr.WhenLess(step, expr.Number(1.5), w, g),
			"of numbers": expr.WhenLess(g, lr, lr, step),
			"number":     step.Plus(1).Mul(lr),
		}
	}
	names := []string{"arithmetic", "limits", "powers", "waves", "steps", "norms", "choice", "by step", "of numbers", "number"}
	own := optimizers.NewRule("Ops", func(u *optimizers.Update) {
		all := f(u.Variable(), u.Gradient(), u.LearningRate(), u.Step())
		for _, name := range names {
			u.Assign(u.Slot(strings.ReplaceAll(name, " ", "_"), 7), all[name])
		}
	})
	const n, rate = 5, 0.375
	for name, dev := range devices {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			w, g := singles(r, n), singles(r, n)
			v := &models.Variable{Name: "w", DType: dev.d, Shape: []int{n}, Trainable: true}
			tr := startOn(t, dev.open(t), trainOp(optimizers.Of(own, rate), v), map[string]*tensor.Tensor{"w": asType(w, dev.d)}, nil)
			for step := range 3 {
				tr.run(asType(g, dev.d))
				var squares float64
				for i := range n {
					squares += g.Float(i) * g.Float(i)
				}
				for i := range n {
					want := f(expr.Number(w.Float(i)), expr.Number(g.Float(i)), expr.Number(rate), expr.Number(float64(step)))
					want["norms"] = expr.Number(g.Float(i) / max(math.Sqrt(squares), 0.25) * rate)
					for j, slot := range names {
						x, ok := want[slot].Value()
						near(t, slot, tr.get(namesOf(tr.op, 0).slot(v, j))[i:i+1], []float64{x}, dev.tolerance*10)
						if !ok {
							t.Fatalf("%s is no number", slot)
						}
					}
				}
			}
			near(t, "the variable stays", tr.get("w"), tr.initialOf(w), 0)
		})
	}
}

func (tr *trial) initialOf(x *tensor.Tensor) (out []float64) {
	for i := range x.Len() {
		out = append(out, x.Float(i))
	}
	return out
}

// asType converts a vector to another type.
func asType(x *tensor.Tensor, d tensor.DType) *tensor.Tensor {
	if d == x.DType {
		return x
	}
	out := tensor.New(d, x.Shape...)
	for i := range x.Len() {
		tensor.Values[float64](out)[i] = x.Float(i)
	}
	return out
}

// ramp is a schedule as a user would write it.
type ramp struct{ slope, limit float64 }

func (r ramp) At(step expr.Expr) expr.Expr { return step.Times(r.slope).Min(expr.Number(r.limit)) }

// TestOwnSchedule: a user's schedule gives the same rates as a number and in a graph.
func TestOwnSchedule(t *testing.T) {
	s := ramp{0.25, 1}
	tr := start(t, trainOp(optimizers.SGD(0, optimizers.WithSchedule(optimizers.Warmup{Steps: 2, Then: s})), variable("w", 1)), map[string]*tensor.Tensor{"w": vector(0)}, nil)
	for _, want := range []float64{0, 0, 0, 0.25, 0.5, 0.75, 1, 1} {
		at := tr.step
		tr.run(vector(1))
		near(t, "rate", []float64{tr.prog.Value(0).Float(0), optimizers.RateAt(optimizers.Warmup{Steps: 2, Then: s}, at)}, []float64{want, want}, 1e-15)
	}
}

func TestOwnRuleErrors(t *testing.T) {
	for want, define := range map[string]func(u *optimizers.Update){
		"expected the variable or a slot": func(u *optimizers.Update) { u.Assign(u.Gradient(), u.Variable()) },
		"each once":                       func(u *optimizers.Update) { w := u.Variable(); u.Assign(w, w); u.Assign(w, w) },
		"the name m is taken twice":       func(u *optimizers.Update) { u.Slot("m", 0); u.Slot("m", 0) },
		"the name step is taken twice":    func(u *optimizers.Update) { u.Slot("step", 0) },
		`slot "a b"`:                      func(u *optimizers.Update) { u.Slot("a b", 0) },
		"expected a finite number":        func(u *optimizers.Update) { u.Slot("m", math.Inf(1)) },
		`unknown input "x"`:               func(u *optimizers.Update) { u.Assign(u.Variable(), expr.Input("x")) },
		"17 slots: expected at most 16": func(u *optimizers.Update) {
			for i := range 17 {
				u.Slot(string(rune('a'+i)), 0)
			}
		},
		"expected at most 512": func(u *optimizers.Update) {
			x := u.Variable()
			for range 300 {
				x = x.Plus(1)
			}
			u.Assign(u.Variable(), x)
		},
	} {
		r := optimizers.NewRule("Own", define)
		_, err := build(func(b *models.Builder) error { optimizers.Of(r, 0.1).Minimize(b, regression(b)); return nil })
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rule Own") {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	if _, err := build(func(b *models.Builder) error {
		optimizers.Of(optimizers.NewRule("a/b", func(*optimizers.Update) {}), 0.1).Minimize(b, regression(b))
		return nil
	}); err == nil || !strings.Contains(err.Error(), `rule "a/b"`) {
		t.Errorf("name: got %v", err)
	}
	foreign := struct{ optimizers.Rule }{optimizers.SGD(1).Rule}
	if _, err := Emit(&optimizers.TrainOp{Groups: []optimizers.Group{{Variables: []*models.Variable{variable("w", 1)}, Rule: foreign, LearningRate: optimizers.Constant(1)}}},
		graph.NewBuilder(graph.New()), Env{}); err == nil || !strings.Contains(err.Error(), "NewRule") {
		t.Errorf("a type of one's own as a rule: got %v", err)
	}
}
