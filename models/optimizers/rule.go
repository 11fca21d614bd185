package optimizers

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
)

// Rule is a named update rule with its hyper-parameters. The types of this
// package implement it; New makes one by name.
type Rule interface {
	// Name is the name that New knows the rule by.
	Name() string
	// traits says what of the rule does not depend on the variable.
	traits() traits
	// slots lists the rule's state of each variable, in TensorFlow's order of creation.
	slots() []slot
	// update adds the nodes that apply a gradient.
	update(a *application) []*graph.Node
}

// traits are what rules differ in besides their updates.
type traits struct {
	label  string    // TensorFlow's name of the optimizer: "Adam"
	powers []float64 // V1 Adam's running powers: beta1, beta2
	keras  bool      // counts its own iterations
}

// slot is one state of a variable.
type slot struct {
	keras string // its name in Keras optimizers; V1 numbers them
	init  float64
}

// application is the update of one variable.
type application struct {
	b     *graph.Builder
	scope string // of node names, ends in a slash
	v     *models.Variable
	grad  gradient
	lr    graph.Output   // scalar of the variable's type
	slots []graph.Output // resources, in the rule's order
	*state
}

// gradient is dense, or rows and where they belong.
type gradient struct {
	graph.Output
	Indices graph.Output
}

// Sparse reports whether g is rows.
func (g gradient) Sparse() bool { return g.Indices.Valid() }

// state is what the variables of one group share.
type state struct {
	powers []graph.Output // float scalars: V1 Adam's, as of the start of the step
	steps  graph.Output   // float64 scalar: Keras's iterations, as of the start of the step
}

func (a *application) variable() graph.Output { return a.b.Variable(a.v.Name, a.v.Type()) }

// value reads the variable as of the start of the step.
func (a *application) value() graph.Output { return a.b.Read(a.variable(), a.v.Type()) }

// slot reads a slot as of the start of the step.
func (a *application) slot(i int) graph.Output { return a.b.Read(a.slots[i], a.v.Type()) }

// scalar adds a constant of the variable's type.
func (a *application) scalar(name string, v float64) graph.Output {
	return a.b.Scalar(a.scope+name, a.v.DType, v)
}

// apply adds one of TensorFlow's ResourceApply* ops on the variable and its slots.
func (a *application) apply(op string, attrs graph.Attrs, in ...graph.Output) []*graph.Node {
	attrs["T"] = a.v.DType
	attrs["use_locking"] = false
	if a.grad.Sparse() {
		attrs["Tindices"] = a.grad.Indices.DType()
	}
	in = append(append([]graph.Output{a.variable()}, a.slots...), in...)
	return []*graph.Node{a.b.Node(op, a.scope+op, nil, attrs, in...)}
}

// binary adds an elementwise op on two outputs, the second of which may be a scalar.
func (a *application) binary(op string, x, y graph.Output) graph.Output {
	return a.b.Op(op, a.scope+op, x.Type(), graph.Attrs{"T": x.DType()}, x, y)
}

func (a *application) unary(op string, x graph.Output) graph.Output {
	return a.b.Op(op, a.scope+op, x.Type(), graph.Attrs{"T": x.DType()}, x)
}

// assign sets a resource to a value of the variable's type.
func (a *application) assign(op string, resource, value graph.Output, after ...*graph.Node) *graph.Node {
	return assign(a.b, op, a.scope+op, resource, value, after...)
}

func assign(b *graph.Builder, op, name string, resource, value graph.Output, after ...*graph.Node) *graph.Node {
	attrs := graph.Attrs{}
	if value.Valid() {
		attrs["dtype"] = value.DType()
	}
	n := b.Node(op, name, nil, attrs, resource, value)
	n.Control = after
	return n
}
