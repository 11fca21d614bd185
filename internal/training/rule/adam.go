package rule

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// Adam is tf.compat.v1.train.AdamOptimizer: Kingma and Ba 2014 in the form
// before section 2.1, with "epsilon hat":
// w -= lr*sqrt(1-beta2^t)/(1-beta1^t) * m/(sqrt(v)+epsilon).
//
// A sparse gradient decays the moments of all rows and moves all rows, as in
// TensorFlow: the result is the same as for the dense gradient.
type Adam struct{ Beta1, Beta2, Epsilon float64 }

// Name is "adam".
func (Adam) Name() string  { return "adam" }
func (Adam) Slots() []Slot { return []Slot{{Keras: "m"}, {Keras: "v"}} }
func (r Adam) Traits() Traits {
	return Traits{Label: "Adam", Powers: []float64{r.Beta1, r.Beta2}, AllRows: true}
}

func (r Adam) Update(a *Application) []*graph.Node {
	return r.apply(a, a.cast(a.Powers[0]), a.cast(a.Powers[1]))
}

func (r Adam) apply(a *Application, power1, power2 graph.Output) []*graph.Node {
	if a.Grad.Sparse() {
		return r.applySparse(a, power1, power2)
	}
	return a.apply("ResourceApplyAdam", graph.Attrs{"use_nesterov": false}, power1, power2, a.Rate,
		a.scalar("beta1", r.Beta1), a.scalar("beta2", r.Beta2), a.scalar("epsilon", r.Epsilon), a.Grad.Output)
}

// applySparse makes the same update without a gradient of the variable's size,
// with ops that change state in place.
func (r Adam) applySparse(a *Application, power1, power2 graph.Output) []*graph.Node {
	b, m, v := a.B, a.Slots[0], a.Slots[1]
	oldM := a.shrink(m, 1-r.Beta1)
	addM := b.Node("ResourceScatterAdd", a.Scope+"ResourceScatterAdd", nil, graph.Attrs{"dtype": a.V.DType, "Tindices": a.Grad.Indices.DType()},
		m, a.Grad.Indices, a.binary("Mul", a.Grad.Output, a.scalar("one_minus_beta1", 1-r.Beta1)))
	addM.Control = []*graph.Node{oldM}
	oldV := a.shrink(v, 1-r.Beta2)
	// Adagrad's accumulator adds the square of each row's summed gradient; with rate 0 the variable does not change.
	addV := a.adagrad(v, a.scalar("zero", 0), a.scalar("one", 1), math.Sqrt(1-r.Beta2))
	addV.Control = []*graph.Node{oldV}
	// With betas of 1 the moments do not change, whatever the gradient, so m can be passed as the gradient.
	one := a.scalar("one", 1)
	step := b.Node("ResourceApplyAdam", a.Scope+"ResourceApplyAdam", nil, graph.Attrs{"T": a.V.DType, "use_locking": false, "use_nesterov": false},
		a.variable(), m, v, power1, power2, a.Rate, one, one, a.scalar("epsilon", r.Epsilon), b.Read(m, graph.TypeOf(a.V.DType, a.V.Shape...), addM))
	step.Control = []*graph.Node{addM, addV}
	return []*graph.Node{oldM, addM, oldV, addV, step}
}

// shrink subtracts a share of a slot from itself, in place.
func (a *Application) shrink(slot graph.Output, share float64) *graph.Node {
	return a.B.Node("ResourceApplyGradientDescent", a.Scope+"shrink/ResourceApplyGradientDescent", nil,
		graph.Attrs{"T": a.V.DType, "use_locking": false}, slot, a.scalar("share", share), a.B.Read(slot, graph.TypeOf(a.V.DType, a.V.Shape...)))
}

// adagrad adds the square of factor times the gradient to a slot, and subtracts
// lr times that product, divided by the slot's root plus epsilon, from the variable.
func (a *Application) adagrad(slot, lr, epsilon graph.Output, factor float64) *graph.Node {
	attrs := graph.Attrs{"T": a.V.DType, "use_locking": false, "update_slots": true}
	in := []graph.Output{a.variable(), slot, lr, epsilon, a.binary("Mul", a.Grad.Output, a.scalar("factor", factor))}
	op := "ResourceApplyAdagradV2"
	if a.Grad.Sparse() {
		op, in = "ResourceSparseApplyAdagradV2", append(in, a.Grad.Indices)
		attrs["Tindices"] = a.Grad.Indices.DType()
	}
	return a.B.Node(op, a.Scope+op, nil, attrs, in...)
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2017). The
// decay itself is the group's WeightDecay, which every rule may have.
type AdamW struct{ Adam }

// Name is "adamw".
func (AdamW) Name() string { return "adamw" }

func (r AdamW) Traits() Traits {
	t := r.Adam.Traits()
	t.Label = "AdamW"
	return t
}

// KerasAdam is tf.keras.optimizers.Adam: the same update, with the powers of beta
// computed from the count of iterations.
type KerasAdam struct{ Beta1, Beta2, Epsilon float64 }

// Name is "keras_adam".
func (KerasAdam) Name() string   { return "keras_adam" }
func (KerasAdam) Traits() Traits { return Traits{Label: "Adam", Keras: true, AllRows: true} }
func (KerasAdam) Slots() []Slot  { return []Slot{{Keras: "m"}, {Keras: "v"}} }

func (r KerasAdam) Update(a *Application) []*graph.Node {
	return Adam(r).apply(a, a.power(r.Beta1), a.power(r.Beta2))
}

// power returns beta^(iterations+1).
func (a *Application) power(beta float64) graph.Output {
	c := Scalars{a.B, a.Scope}
	return a.cast(c.Op("Pow", c.Number(beta), c.Op("AddV2", a.Steps, c.Number(1))))
}

// KerasAdamW is KerasAdam under the name of tf.keras.optimizers.AdamW; see AdamW.
type KerasAdamW struct{ KerasAdam }

// Name is "keras_adamw".
func (KerasAdamW) Name() string   { return "keras_adamw" }
func (KerasAdamW) Traits() Traits { return Traits{Label: "AdamW", Keras: true, AllRows: true} }
