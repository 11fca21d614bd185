package optimizers

import "github.com/goestimator/goestimator/internal/graph"

// Adam is tf.compat.v1.train.AdamOptimizer: Kingma and Ba 2014 in the form
// before section 2.1, with "epsilon hat":
// w -= lr*sqrt(1-beta2^t)/(1-beta1^t) * m/(sqrt(v)+epsilon).
//
// A sparse gradient moves all rows, as in TensorFlow: it is applied as a dense one.
type Adam struct{ Beta1, Beta2, Epsilon float64 }

// Name is "adam".
func (Adam) Name() string  { return "adam" }
func (Adam) slots() []slot { return []slot{{"m", 0}, {"v", 0}} }
func (r Adam) traits() traits {
	return traits{label: "Adam", powers: []float64{r.Beta1, r.Beta2}}
}

func (r Adam) update(a *application) []*graph.Node {
	return r.apply(a, a.cast(a.powers[0]), a.cast(a.powers[1]))
}

func (r Adam) apply(a *application, power1, power2 graph.Output) []*graph.Node {
	g := a.dense()
	a.grad.Output, a.grad.Indices = g, graph.Output{}
	return a.apply("ResourceApplyAdam", graph.Attrs{"use_nesterov": false}, power1, power2, a.lr,
		a.scalar("beta1", r.Beta1), a.scalar("beta2", r.Beta2), a.scalar("epsilon", r.Epsilon), g)
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2017); the
// decay itself is the group's WeightDecay, which every rule may have.
type AdamW struct{ Adam }

// Name is "adamw".
func (AdamW) Name() string { return "adamw" }

func (r AdamW) traits() traits {
	t := r.Adam.traits()
	t.label = "AdamW"
	return t
}

// KerasAdam is tf.keras.optimizers.Adam: the same update, its powers of beta
// computed from the count of iterations.
type KerasAdam struct{ Beta1, Beta2, Epsilon float64 }

// Name is "keras_adam".
func (KerasAdam) Name() string   { return "keras_adam" }
func (KerasAdam) traits() traits { return traits{label: "Adam", keras: true} }
func (KerasAdam) slots() []slot  { return []slot{{"m", 0}, {"v", 0}} }

func (r KerasAdam) update(a *application) []*graph.Node {
	return Adam(r).apply(a, a.power(r.Beta1), a.power(r.Beta2))
}

// power returns beta^(iterations+1).
func (a *application) power(beta float64) graph.Output {
	c := calc{a.b, a.scope}
	return a.cast(c.output(c.pow(number(beta), c.add(num{out: a.steps}, number(1)))))
}

// KerasAdamW is KerasAdam under the name of tf.keras.optimizers.AdamW; see AdamW.
type KerasAdamW struct{ KerasAdam }

// Name is "keras_adamw".
func (KerasAdamW) Name() string   { return "keras_adamw" }
func (KerasAdamW) traits() traits { return traits{label: "AdamW", keras: true} }
