package optimizers

import "github.com/goestimator/goestimator/internal/compiler/graph"

// SGD is w -= lr*g: tf.compat.v1.train.GradientDescentOptimizer.
type SGD struct{}

// Name is "sgd".
func (SGD) Name() string                        { return "sgd" }
func (SGD) traits() traits                      { return traits{label: "GradientDescent"} }
func (SGD) slots() []slot                       { return nil }
func (SGD) update(a *application) []*graph.Node { return descend(a) }

// descend applies w -= lr*g. Rows of a sparse gradient are added one by one,
// as scatter does, so equal indices need no summing.
func descend(a *application) []*graph.Node {
	if !a.grad.Sparse() {
		return a.apply("ResourceApplyGradientDescent", graph.Attrs{}, a.lr, a.grad.Output)
	}
	rows := a.binary("Mul", a.grad.Output, a.lr)
	return []*graph.Node{a.b.Node("ResourceScatterSub", a.scope+"ResourceScatterSub", nil,
		graph.Attrs{"dtype": a.v.DType, "Tindices": a.grad.Indices.DType()}, a.variable(), a.grad.Indices, rows)}
}

// Momentum is m = momentum*m + g, w -= lr*m (tf.compat.v1.train.MomentumOptimizer).
type Momentum struct {
	Momentum float64
	Nesterov bool
}

// Name is "momentum".
func (Momentum) Name() string   { return "momentum" }
func (Momentum) traits() traits { return traits{label: "Momentum"} }
func (Momentum) slots() []slot  { return []slot{{"momentum", 0}} }

func (m Momentum) update(a *application) []*graph.Node {
	return heavyBall(a, "Momentum", m.Momentum, m.Nesterov)
}

func heavyBall(a *application, op string, momentum float64, nesterov bool) []*graph.Node {
	attrs := graph.Attrs{"use_nesterov": nesterov}
	mu := a.scalar("momentum", momentum)
	if a.grad.Sparse() {
		return a.apply("ResourceSparseApply"+op, attrs, a.lr, a.grad.Output, a.grad.Indices, mu)
	}
	return a.apply("ResourceApply"+op, attrs, a.lr, a.grad.Output, mu)
}

// KerasSGD is m = momentum*m - lr*g, w += m (tf.keras.optimizers.SGD); without
// momentum it has no slot and is SGD.
type KerasSGD struct {
	Momentum float64
	Nesterov bool
}

// Name is "keras_sgd".
func (KerasSGD) Name() string   { return "keras_sgd" }
func (KerasSGD) traits() traits { return traits{label: "SGD", keras: true} }

func (s KerasSGD) slots() []slot {
	if s.Momentum == 0 {
		return nil
	}
	return []slot{{"momentum", 0}}
}

func (s KerasSGD) update(a *application) []*graph.Node {
	if s.Momentum == 0 {
		return descend(a)
	}
	return heavyBall(a, "KerasMomentum", s.Momentum, s.Nesterov)
}
