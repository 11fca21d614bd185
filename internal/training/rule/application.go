package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
)

// Rule is an update rule with its hyper-parameters.
type Rule interface {
	// Name is the rule's name in config files; a Custom rule has its own.
	Name() string
	// Traits returns properties of the rule that do not depend on the variable.
	Traits() Traits
	// Slots lists the state that the rule keeps for each variable, in TensorFlow's order of creation.
	Slots() []Slot
	// Update adds the nodes that apply a gradient.
	Update(a *Application) []*graph.Node
}

// Traits are the properties of rules besides their updates.
type Traits struct {
	Label  string    // TensorFlow's name of the optimizer: "Adam"
	Powers []float64 // V1 Adam's running powers: beta1, beta2
	Keras  bool      // counts its own iterations
	// AllRows: a sparse gradient also changes rows that it does not name.
	AllRows bool
	// Whole: the update depends on all elements of a variable at once, for example on a norm.
	Whole bool
	// Decays: the rule includes weight decay in its own step, from Application.WeightDecay.
	Decays bool
}

// Slot is one state of a variable.
type Slot struct {
	Keras string // its name in Keras optimizers; V1 numbers them
	Init  float64
	// Own is the name of an average, after the variable's name in all naming schemes. The average starts with the
	// variable's initial value instead of Init.
	Own string
}

// Application is the update of one variable.
type Application struct {
	B     *graph.Builder
	Scope string // of node names, ends in a slash
	V     *models.Variable
	Grad  Gradient
	Rate  graph.Output // the learning rate, a scalar of the variable's type
	Exact graph.Output // the learning rate in float64
	Step  graph.Output // float64 scalar: the global step at the start of the step
	// Updates is a float64 scalar: the number of earlier updates, including those held back.
	Updates graph.Output
	Slots   []graph.Output // resources, in the rule's order
	// Decayed are the nodes that decay the variable's weights before the update; none if it has no decay.
	Decayed []*graph.Node
	// WeightDecay is the variable's, if the rule Decays; else 0.
	WeightDecay float64
	*State
}

// Gradient is dense, or rows with their indices.
type Gradient struct {
	graph.Output
	Indices graph.Output
}

// Sparse reports whether g consists of rows.
func (g Gradient) Sparse() bool { return g.Indices.Valid() }

// State is the state that the variables of one group share.
type State struct {
	Powers []graph.Output // float scalars: V1 Adam's, at the start of the step
	Steps  graph.Output   // float64 scalar: Keras's iterations, at the start of the step
}

// Decay subtracts rate*weight*w from the variable w: a descent whose gradient is w itself.
func (a *Application) Decay(weight float64) []*graph.Node {
	rate := a.binary("Mul", a.Rate, a.scalar("weight_decay", weight))
	return []*graph.Node{a.B.Node("ResourceApplyGradientDescent", a.Scope+"weight_decay/ResourceApplyGradientDescent", nil,
		graph.Attrs{"T": a.V.DType, "use_locking": false}, a.variable(), rate, a.value())}
}

// kind is the type of the variable and its slots.
func (a *Application) kind() graph.Type { return graph.TypeOf(a.V.DType, a.V.Shape...) }

func (a *Application) variable() graph.Output { return a.B.Variable(a.V.Name, a.kind()) }

// value reads the variable at the start of the step.
func (a *Application) value() graph.Output { return a.B.Read(a.variable(), a.kind()) }

// slot reads a slot at the start of the step.
func (a *Application) slot(i int) graph.Output { return a.B.Read(a.Slots[i], a.kind()) }

// scalar adds a constant of the variable's type.
func (a *Application) scalar(name string, v float64) graph.Output {
	return a.B.Scalar(a.Scope+name, a.V.DType, v)
}

// cast converts x to the variable's type.
func (a *Application) cast(x graph.Output) graph.Output {
	return a.B.Cast(a.Scope+"Cast", x, a.V.DType)
}

// apply adds one of TensorFlow's ResourceApply* ops on the variable and its slots.
func (a *Application) apply(op string, attrs graph.Attrs, in ...graph.Output) []*graph.Node {
	attrs["T"] = a.V.DType
	attrs["use_locking"] = false
	if a.Grad.Sparse() {
		attrs["Tindices"] = a.Grad.Indices.DType()
	}
	in = append(append([]graph.Output{a.variable()}, a.Slots...), in...)
	return []*graph.Node{a.B.Node(op, a.Scope+op, nil, attrs, in...)}
}

// binary adds an elementwise op on two outputs; the second may be a scalar.
func (a *Application) binary(op string, x, y graph.Output) graph.Output {
	return a.B.Op(op, a.Scope+op, x.Type(), graph.Attrs{"T": x.DType()}, x, y)
}

func (a *Application) unary(op string, x graph.Output) graph.Output {
	return a.B.Op(op, a.Scope+op, x.Type(), graph.Attrs{"T": x.DType()}, x)
}

// assign sets a resource to a value of the variable's type.
func (a *Application) assign(op string, resource, value graph.Output) *graph.Node {
	return Assign(a.B, op, a.Scope+op, resource, value)
}

// Assign adds an op that sets or changes a resource, after the given nodes.
func Assign(b *graph.Builder, op, name string, resource, value graph.Output, after ...*graph.Node) *graph.Node {
	attrs := graph.Attrs{}
	if value.Valid() {
		attrs["dtype"] = value.DType()
	}
	n := b.Node(op, name, nil, attrs, resource, value)
	n.Control = after
	return n
}
