package ops

import (
	"fmt"
	"hash"
	"slices"
	"sync/atomic"

	"github.com/chewxy/hm"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// spec describes one application of an op. It is fixed when the node is made, so the
// op's only logic is its gradient.
type spec struct {
	op     string      // TensorFlow's op name
	attrs  graph.Attrs // TensorFlow's attributes, types included
	outs   []kind      // of every output; the node is the first
	consts []operand   // constant operands that follow the others
	fixed  []int       // float operands without a gradient

	// grad returns one gradient per operand; nil: the op has none.
	grad func(a *adjoint) []*G.Node
	// emit adds the op's nodes, if they are not a single node of op and attrs.
	emit func(e *emission) []graph.Output
	// rows does the same for an op whose value is a sparse gradient.
	rows func(e *emission) lower.Value
}

// operand is a constant operand of a node, int32 unless tensor is set.
type operand struct {
	name   string
	shape  []int // of ints; nil: a vector
	ints   []int
	tensor *tensor.Tensor
}

// vector returns a constant operand of rank 1. It copies v.
func vector(name string, v ...int) operand { return operand{name: name, ints: slices.Clone(v)} }

// scalarInt returns a constant operand of rank 0.
func scalarInt(name string, v int) operand {
	return operand{name: name, ints: []int{v}, shape: []int{}}
}

// kind is the element type and the shape of an output.
type kind struct {
	dt    gtensor.Dtype
	shape []int
}

func kindOf(n *G.Node) kind { return kind{n.Dtype(), n.Shape()} }

func (k kind) expr() hm.Type {
	if len(k.shape) == 0 {
		return k.dt
	}
	return G.TensorType{Dims: len(k.shape), Of: k.dt}
}

func (k kind) dtype() tensor.DType { return models.GraphType(k.dt) }

func (k kind) graph() graph.Type {
	return graph.Type{DType: k.dtype(), Shape: graph.ShapeOf(k.shape...)}
}

// base is embedded in every Gorgonia op of this package.
type base struct {
	spec
	b    *models.Builder
	name string // of the node, unique in its graph
	id   uint32
	in   []hm.Type
	diff []bool

	ofGradient bool // made by a gradient rule
}

// op is the Gorgonia op of one node.
type op struct{ base }

// selector is the op of a node for another output of its operand.
type selector struct {
	base
	index int
}

// OutputIndex returns the index of the output that the node represents.
func (s *selector) OutputIndex() int { return s.index }

// lastID numbers the ops, so that no two have the same hash: Gorgonia would merge nodes
// with equal hashes. The engine merges nodes that are really equal.
var lastID atomic.Uint32

// apply makes the node of s.
func apply(c models.Context, s spec, in ...*G.Node) *G.Node {
	b := c.Core()
	if b.Failed() {
		return nil
	}
	o := &op{newBase(b, b.UniqueName(s.op), s, in)}
	_, o.ofGradient = c.(*adjoint)
	if len(in) == 0 {
		return leaf(o)
	}
	n, err := G.ApplyOpWithName(o, o.name, in...)
	if err != nil {
		b.Failf("%s: %w", s.op, err)
		return nil
	}
	return n
}

// leaf makes a node without operands. Grad removes such nodes from the graph if nothing
// uses them, and mixes up others. An unused op that reads the leaf prevents that.
func leaf(o *op) *G.Node {
	n := G.NewUniqueNode(G.WithType(o.outs[0].expr()), G.WithOp(o), G.In(o.b.Expr()),
		G.WithShape(o.outs[0].shape...), G.WithName(o.name))
	use := &op{newBase(o.b, o.name+"/use", spec{op: "Identity", attrs: typeAttr(n.Dtype()), outs: o.outs}, []*G.Node{n})}
	if _, err := G.ApplyOpWithName(use, use.name, n); err != nil {
		o.b.Failf("%s: %w", o.op, err)
		return nil
	}
	return n
}

func newBase(b *models.Builder, name string, s spec, in []*G.Node) base {
	o := base{spec: s, b: b, name: name, id: lastID.Add(1)}
	for i, n := range in {
		o.in = append(o.in, n.Type())
		o.diff = append(o.diff, s.grad != nil && isFloat(n) && !slices.Contains(s.fixed, i))
	}
	return o
}

// output returns output i of the multi-output node n, without a gradient.
func output(c models.Context, n *G.Node, i int) *G.Node {
	b := c.Core()
	if b.Failed() {
		return nil
	}
	from := n.Op().(*op)
	s := &selector{newBase(b, fmt.Sprintf("%s:%d", from.name, i), spec{op: "output", outs: from.outs[i : i+1]}, []*G.Node{n}), i}
	out, err := G.ApplyOpWithName(s, s.name, n)
	if err != nil {
		b.Failf("%s: output %d: %w", n.Op(), i, err)
		return nil
	}
	return out
}

func isFloat(n *G.Node) bool { return models.GraphType(n.Dtype()).Float() }

// Arity returns the number of operands.
func (o *base) Arity() int { return len(o.in) }

// Type returns a new function type of concrete types.
func (o *base) Type() hm.Type {
	if len(o.in) == 0 {
		return o.outs[0].expr()
	}
	return hm.NewFnType(append(slices.Clone(o.in), o.outs[0].expr())...)
}

// InferShape returns the shape that the constructor inferred.
func (o *base) InferShape(...G.DimSizer) (gtensor.Shape, error) {
	return gtensor.Shape(slices.Clone(o.outs[0].shape)), nil
}

// Do fails: Gorgonia's machines cannot run the op.
func (o *base) Do(...G.Value) (G.Value, error) {
	return nil, fmt.Errorf("%s runs in goestimator's engine, not in a Gorgonia machine", o.op)
}

// ReturnsPtr is false.
func (o *base) ReturnsPtr() bool { return false }

// CallsExtern is false.
func (o *base) CallsExtern() bool { return false }

// OverwritesInput returns -1.
func (o *base) OverwritesInput() int { return -1 }

// WriteHash writes what makes the op unique.
func (o *base) WriteHash(h hash.Hash) { fmt.Fprintf(h, "goestimator %s %d", o.op, o.id) }

// Hashcode returns a number that no other op of this package has.
func (o *base) Hashcode() uint32 { return o.id }

// String returns TensorFlow's name of the op.
func (o *base) String() string { return o.op }

// DiffWRT reports which operands have gradients.
func (o *base) DiffWRT(int) []bool { return slices.Clone(o.diff) }

// SymDiff adds the gradient nodes, below "gradients/<name>_grad".
func (o *base) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	switch {
	case o.ofGradient:
		// Gorgonia would answer with first derivatives.
		return nil, fmt.Errorf("%s (%s) is part of a gradient: second derivatives are not computed; stop the gradient there, or write the first one with ops", out.Name(), o.op)
	case o.grad == nil:
		return nil, fmt.Errorf("%s (%s) has no gradient", out.Name(), o.op)
	}
	a := &adjoint{Builder: o.b, in: in, out: out, grad: grad}
	var ds []*G.Node
	a.Scope("gradients/"+out.Name()+"_grad", func() { ds = o.spec.grad(a) })
	if err := a.Err(); err != nil {
		return nil, err
	}
	for i := range in {
		if o.diff[i] && (ds[i] == nil || !slices.Equal(ds[i].Shape(), in[i].Shape())) {
			return nil, fmt.Errorf("%s (%s): gradient %d does not have the shape %v of its operand", out.Name(), o.op, i, in[i].Shape())
		}
	}
	return ds, nil
}

// adjoint is the argument of a gradient rule: operands, output and the gradient of
// the output, in a Context with the gradient's scope.
type adjoint struct {
	*models.Builder
	in        []*G.Node
	out, grad *G.Node
}
