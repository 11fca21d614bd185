package rule

import "github.com/goestimator/goestimator/internal/compiler/graph"

// SGD is w -= lr*g: tf.compat.v1.train.GradientDescentOptimizer.
type SGD struct{}

// Name is "sgd".
func (SGD) Name() string                        { return "sgd" }
func (SGD) Traits() Traits                      { return Traits{Label: "GradientDescent"} }
func (SGD) Slots() []Slot                       { return nil }
func (SGD) Update(a *Application) []*graph.Node { return descend(a) }

// descend applies w -= lr*g. It adds rows of a sparse gradient one by one,
// like scatter, so equal indices need no summing.
func descend(a *Application) []*graph.Node {
	if !a.Grad.Sparse() {
		return a.apply("ResourceApplyGradientDescent", graph.Attrs{}, a.Rate, a.Grad.Output)
	}
	rows := a.binary("Mul", a.Grad.Output, a.Rate)
	return []*graph.Node{a.B.Node("ResourceScatterSub", a.Scope+"ResourceScatterSub", nil,
		graph.Attrs{"dtype": a.V.DType, "Tindices": a.Grad.Indices.DType()}, a.variable(), a.Grad.Indices, rows)}
}

// Momentum is m = momentum*m + g, w -= lr*m (tf.compat.v1.train.MomentumOptimizer).
type Momentum struct {
	Momentum float64
	Nesterov bool
}

// Name is "momentum".
func (Momentum) Name() string   { return "momentum" }
func (Momentum) Traits() Traits { return Traits{Label: "Momentum"} }
func (Momentum) Slots() []Slot  { return []Slot{{Keras: "momentum"}} }

func (m Momentum) Update(a *Application) []*graph.Node {
	return heavyBall(a, "Momentum", m.Momentum, m.Nesterov)
}

func heavyBall(a *Application, op string, momentum float64, nesterov bool) []*graph.Node {
	attrs := graph.Attrs{"use_nesterov": nesterov}
	mu := a.scalar("momentum", momentum)
	if a.Grad.Sparse() {
		return a.apply("ResourceSparseApply"+op, attrs, a.Rate, a.Grad.Output, a.Grad.Indices, mu)
	}
	return a.apply("ResourceApply"+op, attrs, a.Rate, a.Grad.Output, mu)
}

// KerasSGD is m = momentum*m - lr*g, w += m (tf.keras.optimizers.SGD); without
// momentum it has no slot and is SGD.
type KerasSGD struct {
	Momentum float64
	Nesterov bool
}

// Name is "keras_sgd".
func (KerasSGD) Name() string   { return "keras_sgd" }
func (KerasSGD) Traits() Traits { return Traits{Label: "SGD", Keras: true} }

func (s KerasSGD) Slots() []Slot {
	if s.Momentum == 0 {
		return nil
	}
	return []Slot{{Keras: "momentum"}}
}

func (s KerasSGD) Update(a *Application) []*graph.Node {
	if s.Momentum == 0 {
		return descend(a)
	}
	return heavyBall(a, "KerasMomentum", s.Momentum, s.Nesterov)
}
