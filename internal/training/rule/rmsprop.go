package rule

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
)

// RMSProp is tf.compat.v1.train.RMSPropOptimizer (Tieleman and Hinton 2012):
// ms = rho*ms + (1-rho)*g*g, mom = momentum*mom + lr*g/sqrt(ms+epsilon),
// w -= mom; centered subtracts the square of g's mean from ms. The mean square
// begins at 1.
type RMSProp struct {
	Rho, Momentum, Epsilon float64
	Centered               bool
}

// Name is "rmsprop".
func (RMSProp) Name() string   { return "rmsprop" }
func (RMSProp) Traits() Traits { return Traits{Label: "RMSProp"} }

func (r RMSProp) Slots() []Slot {
	if r.Centered {
		return []Slot{{Keras: "rms", Init: 1}, {Keras: "mg"}, {Keras: "momentum"}}
	}
	return []Slot{{Keras: "rms", Init: 1}, {Keras: "momentum"}}
}

func (r RMSProp) Update(a *Application) []*graph.Node {
	op := "ApplyRMSProp"
	if r.Centered {
		op = "ApplyCenteredRMSProp"
		a.Slots[0], a.Slots[1] = a.Slots[1], a.Slots[0] // the op takes mg first
	}
	in := []graph.Output{a.Rate, a.scalar("rho", r.Rho), a.scalar("momentum", r.Momentum), a.scalar("epsilon", r.Epsilon), a.Grad.Output}
	if a.Grad.Sparse() {
		return a.apply("ResourceSparse"+op, graph.Attrs{}, append(in, a.Grad.Indices)...)
	}
	return a.apply("Resource"+op, graph.Attrs{}, in...)
}

// KerasRMSProp is tf.keras.optimizers.RMSprop: with momentum it is RMSProp;
// without, epsilon is added to the root: w -= lr*g/(sqrt(ms)+epsilon). The mean
// square begins at 0.
type KerasRMSProp struct {
	Rho, Momentum, Epsilon float64
	Centered               bool
}

// Name is "keras_rmsprop".
func (KerasRMSProp) Name() string   { return "keras_rmsprop" }
func (KerasRMSProp) Traits() Traits { return Traits{Label: "RMSprop", Keras: true} }

func (r KerasRMSProp) Slots() []Slot {
	s := []Slot{{Keras: "rms"}}
	if r.Momentum > 0 {
		s = append(s, Slot{Keras: "momentum"})
	}
	if r.Centered {
		s = append(s, Slot{Keras: "mg"})
	}
	return s
}

func (r KerasRMSProp) Update(a *Application) []*graph.Node {
	if r.Momentum > 0 {
		if r.Centered { // to RMSProp's order: rms, mg, momentum
			a.Slots[1], a.Slots[2] = a.Slots[2], a.Slots[1]
		}
		return RMSProp(r).Update(a)
	}
	if r.Centered {
		return r.centered(a)
	}
	// Adagrad on the decayed mean square, with the gradient scaled by the root of 1-rho.
	scale := math.Sqrt(1 - r.Rho)
	old := a.shrink(a.Slots[0], 1-r.Rho)
	step := a.adagrad(a.Slots[0], a.binary("RealDiv", a.Rate, a.scalar("scale", scale)), a.scalar("epsilon", r.Epsilon), scale)
	step.Control = []*graph.Node{old}
	return []*graph.Node{old, step}
}

// centered is the update with g's mean and without momentum. It makes a sparse
// gradient dense.
func (r KerasRMSProp) centered(a *Application) []*graph.Node {
	g := a.Grad.Output
	if a.Grad.Sparse() {
		g = lower.Densify(a.B, a.Scope, lower.SparseValue(graph.TypeOf(a.V.DType, a.V.Shape...).Shape, lower.Slices{Rows: g, Indices: a.Grad.Indices}))
	}
	ms := r.average(a, a.slot(0), a.unary("Square", g))
	mg := r.average(a, a.slot(1), g)
	variance := a.binary("Sub", ms, a.unary("Square", mg))
	root := a.binary("AddV2", a.unary("Sqrt", variance), a.scalar("epsilon", r.Epsilon))
	step := a.binary("RealDiv", a.binary("Mul", g, a.Rate), root)
	return []*graph.Node{
		a.assign("AssignVariableOp", a.Slots[0], ms), a.assign("AssignVariableOp", a.Slots[1], mg),
		a.assign("AssignSubVariableOp", a.variable(), step)}
}

// average is rho*old + (1-rho)*x.
func (r KerasRMSProp) average(a *Application, old, x graph.Output) graph.Output {
	return a.binary("AddV2", a.binary("Mul", old, a.scalar("rho", r.Rho)), a.binary("Mul", x, a.scalar("one_minus_rho", 1-r.Rho)))
}
