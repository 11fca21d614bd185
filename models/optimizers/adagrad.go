package optimizers

import "github.com/goestimator/goestimator/internal/compiler/graph"

// Adagrad is a += g*g, w -= lr*g/sqrt(a) (Duchi et al. 2011;
// tf.compat.v1.train.AdagradOptimizer). Initial is a's first value, > 0.
type Adagrad struct{ Initial float64 }

// Name is "adagrad".
func (Adagrad) Name() string    { return "adagrad" }
func (Adagrad) traits() traits  { return traits{label: "Adagrad"} }
func (r Adagrad) slots() []slot { return []slot{{"accumulator", r.Initial}} }

func (Adagrad) update(a *application) []*graph.Node {
	attrs := graph.Attrs{"update_slots": true}
	if a.grad.Sparse() {
		return a.apply("ResourceSparseApplyAdagrad", attrs, a.lr, a.grad.Output, a.grad.Indices)
	}
	return a.apply("ResourceApplyAdagrad", attrs, a.lr, a.grad.Output)
}

// KerasAdagrad is a += g*g, w -= lr*g/(sqrt(a)+epsilon) (tf.keras.optimizers.Adagrad).
type KerasAdagrad struct{ Initial, Epsilon float64 }

// Name is "keras_adagrad".
func (KerasAdagrad) Name() string    { return "keras_adagrad" }
func (KerasAdagrad) traits() traits  { return traits{label: "Adagrad", keras: true} }
func (r KerasAdagrad) slots() []slot { return []slot{{"accumulator", r.Initial}} }

func (r KerasAdagrad) update(a *application) []*graph.Node {
	attrs := graph.Attrs{"update_slots": true}
	epsilon := a.scalar("epsilon", r.Epsilon)
	if a.grad.Sparse() {
		return a.apply("ResourceSparseApplyAdagradV2", attrs, a.lr, epsilon, a.grad.Output, a.grad.Indices)
	}
	return a.apply("ResourceApplyAdagradV2", attrs, a.lr, epsilon, a.grad.Output)
}
