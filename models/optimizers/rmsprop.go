package optimizers

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
func (RMSProp) traits() traits { return traits{label: "RMSProp"} }

func (r RMSProp) slots() []slot {
	if r.Centered {
		return []slot{{"rms", 1}, {"mg", 0}, {"momentum", 0}}
	}
	return []slot{{"rms", 1}, {"momentum", 0}}
}

func (r RMSProp) update(a *application) []*graph.Node {
	op := "ApplyRMSProp"
	if r.Centered {
		op = "ApplyCenteredRMSProp"
		a.slots[0], a.slots[1] = a.slots[1], a.slots[0] // the op takes mg first
	}
	in := []graph.Output{a.lr, a.scalar("rho", r.Rho), a.scalar("momentum", r.Momentum), a.scalar("epsilon", r.Epsilon), a.grad.Output}
	if a.grad.Sparse() {
		return a.apply("ResourceSparse"+op, graph.Attrs{}, append(in, a.grad.Indices)...)
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
func (KerasRMSProp) traits() traits { return traits{label: "RMSprop", keras: true} }

func (r KerasRMSProp) slots() []slot {
	s := []slot{{"rms", 0}}
	if r.Momentum > 0 {
		s = append(s, slot{"momentum", 0})
	}
	if r.Centered {
		s = append(s, slot{"mg", 0})
	}
	return s
}

func (r KerasRMSProp) update(a *application) []*graph.Node {
	if r.Momentum > 0 {
		if r.Centered { // to RMSProp's order: rms, mg, momentum
			a.slots[1], a.slots[2] = a.slots[2], a.slots[1]
		}
		return RMSProp(r).update(a)
	}
	if r.Centered {
		return r.centered(a)
	}
	// Adagrad on the decayed mean square, its gradient scaled by the root of 1-rho.
	scale := math.Sqrt(1 - r.Rho)
	old := a.shrink(a.slots[0], 1-r.Rho)
	step := a.adagrad(a.slots[0], a.binary("RealDiv", a.lr, a.scalar("scale", scale)), a.scalar("epsilon", r.Epsilon), scale)
	step.Control = []*graph.Node{old}
	return []*graph.Node{old, step}
}

// centered is the update with g's mean and without momentum; a sparse gradient
// is made dense for it.
func (r KerasRMSProp) centered(a *application) []*graph.Node {
	g := a.grad.Output
	if a.grad.Sparse() {
		g = lower.Densify(a.b, a.scope, lower.SparseValue(a.v.Type().Shape, lower.Slices{Rows: g, Indices: a.grad.Indices}))
	}
	ms := r.average(a, a.slot(0), a.unary("Square", g))
	mg := r.average(a, a.slot(1), g)
	variance := a.binary("Sub", ms, a.unary("Square", mg))
	root := a.binary("AddV2", a.unary("Sqrt", variance), a.scalar("epsilon", r.Epsilon))
	step := a.binary("RealDiv", a.binary("Mul", g, a.lr), root)
	return []*graph.Node{
		a.assign("AssignVariableOp", a.slots[0], ms), a.assign("AssignVariableOp", a.slots[1], mg),
		a.assign("AssignSubVariableOp", a.variable(), step)}
}

// average is rho*old + (1-rho)*x.
func (r KerasRMSProp) average(a *application, old, x graph.Output) graph.Output {
	return a.binary("AddV2", a.binary("Mul", old, a.scalar("rho", r.Rho)), a.binary("Mul", x, a.scalar("one_minus_rho", 1-r.Rho)))
}
