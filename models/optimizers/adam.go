package optimizers

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// Adam is tf.compat.v1.train.AdamOptimizer: Kingma and Ba 2014 in the form
// before section 2.1, with "epsilon hat":
// w -= lr*sqrt(1-beta2^t)/(1-beta1^t) * m/(sqrt(v)+epsilon).
//
// A sparse gradient decays the moments of all rows and moves all of them, as in
// TensorFlow: the result is that of the dense gradient.
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
	if a.grad.Sparse() {
		return r.applySparse(a, power1, power2)
	}
	return a.apply("ResourceApplyAdam", graph.Attrs{"use_nesterov": false}, power1, power2, a.lr,
		a.scalar("beta1", r.Beta1), a.scalar("beta2", r.Beta2), a.scalar("epsilon", r.Epsilon), a.grad.Output)
}

// applySparse makes the same update without a gradient of the variable's size,
// by ops that change state in place.
func (r Adam) applySparse(a *application, power1, power2 graph.Output) []*graph.Node {
	b, m, v := a.b, a.slots[0], a.slots[1]
	oldM := a.shrink(m, 1-r.Beta1)
	addM := b.Node("ResourceScatterAdd", a.scope+"ResourceScatterAdd", nil, graph.Attrs{"dtype": a.v.DType, "Tindices": a.grad.Indices.DType()},
		m, a.grad.Indices, a.binary("Mul", a.grad.Output, a.scalar("one_minus_beta1", 1-r.Beta1)))
	addM.Control = []*graph.Node{oldM}
	oldV := a.shrink(v, 1-r.Beta2)
	// Adagrad's accumulator takes the square of each row's summed gradient; a rate of 0 leaves the variable.
	addV := a.adagrad(v, a.scalar("zero", 0), a.scalar("one", 1), math.Sqrt(1-r.Beta2))
	addV.Control = []*graph.Node{oldV}
	// With betas of 1 the moments stay, whatever the gradient; m stands in for it.
	one := a.scalar("one", 1)
	step := b.Node("ResourceApplyAdam", a.scope+"ResourceApplyAdam", nil, graph.Attrs{"T": a.v.DType, "use_locking": false, "use_nesterov": false},
		a.variable(), m, v, power1, power2, a.lr, one, one, a.scalar("epsilon", r.Epsilon), b.Read(m, a.v.Type(), addM))
	step.Control = []*graph.Node{addM, addV}
	return []*graph.Node{oldM, addM, oldV, addV, step}
}

// shrink takes a share of a slot from itself, in place.
func (a *application) shrink(slot graph.Output, share float64) *graph.Node {
	return a.b.Node("ResourceApplyGradientDescent", a.scope+"shrink/ResourceApplyGradientDescent", nil,
		graph.Attrs{"T": a.v.DType, "use_locking": false}, slot, a.scalar("share", share), a.b.Read(slot, a.v.Type()))
}

// adagrad adds the square of factor times the gradient to a slot and descends
// by that over the slot's root plus epsilon.
func (a *application) adagrad(slot, lr, epsilon graph.Output, factor float64) *graph.Node {
	attrs := graph.Attrs{"T": a.v.DType, "use_locking": false, "update_slots": true}
	in := []graph.Output{a.variable(), slot, lr, epsilon, a.binary("Mul", a.grad.Output, a.scalar("factor", factor))}
	op := "ResourceApplyAdagradV2"
	if a.grad.Sparse() {
		op, in = "ResourceSparseApplyAdagradV2", append(in, a.grad.Indices)
		attrs["Tindices"] = a.grad.Indices.DType()
	}
	return a.b.Node(op, a.scope+op, nil, attrs, in...)
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
