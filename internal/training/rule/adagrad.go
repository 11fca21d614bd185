package rule

import "github.com/goestimator/goestimator/internal/compiler/graph"

// Adagrad is a += g*g, w -= lr*g/sqrt(a) (Duchi et al. 2011;
// tf.compat.v1.train.AdagradOptimizer). Initial is a's initial value, > 0.
type Adagrad struct{ Initial float64 }

// Name is "adagrad".
func (Adagrad) Name() string    { return "adagrad" }
func (Adagrad) Traits() Traits  { return Traits{Label: "Adagrad"} }
func (r Adagrad) Slots() []Slot { return []Slot{{Keras: "accumulator", Init: r.Initial}} }

func (Adagrad) Update(a *Application) []*graph.Node {
	attrs := graph.Attrs{"update_slots": true}
	if a.Grad.Sparse() {
		return a.apply("ResourceSparseApplyAdagrad", attrs, a.Rate, a.Grad.Output, a.Grad.Indices)
	}
	return a.apply("ResourceApplyAdagrad", attrs, a.Rate, a.Grad.Output)
}

// KerasAdagrad is a += g*g, w -= lr*g/(sqrt(a)+epsilon) (tf.keras.optimizers.Adagrad).
type KerasAdagrad struct{ Initial, Epsilon float64 }

// Name is "keras_adagrad".
func (KerasAdagrad) Name() string    { return "keras_adagrad" }
func (KerasAdagrad) Traits() Traits  { return Traits{Label: "Adagrad", Keras: true} }
func (r KerasAdagrad) Slots() []Slot { return []Slot{{Keras: "accumulator", Init: r.Initial}} }

func (r KerasAdagrad) Update(a *Application) []*graph.Node {
	attrs := graph.Attrs{"update_slots": true}
	epsilon := a.scalar("epsilon", r.Epsilon)
	if a.Grad.Sparse() {
		return a.apply("ResourceSparseApplyAdagradV2", attrs, a.Rate, epsilon, a.Grad.Output, a.Grad.Indices)
	}
	return a.apply("ResourceApplyAdagradV2", attrs, a.Rate, epsilon, a.Grad.Output)
}
