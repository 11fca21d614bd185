package graph

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Builder adds nodes to a graph. Its first error sticks: later calls do
// nothing and return zero values, and Err reports it, so that a sequence of
// additions needs one check.
type Builder struct {
	Graph *Graph
	err   error
}

// NewBuilder returns a Builder on g.
func NewBuilder(g *Graph) *Builder { return &Builder{Graph: g} }

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Fail records err if it is the first.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Node adds an operation under a name made unique. Inputs must be valid.
func (b *Builder) Node(op, name string, out []Type, attrs Attrs, in ...Output) *Node {
	n := &Node{Op: op, Outputs: out, Attrs: attrs, Inputs: in}
	if b.err != nil {
		n.Name = name
		return n
	}
	n.Name = b.Graph.UniqueName(name)
	for i, o := range in {
		if !o.Valid() {
			b.Fail(fmt.Errorf("node %s (%s): input %d has no value", n.Name, op, i))
			return n
		}
	}
	if err := b.Graph.Add(n); err != nil {
		b.Fail(err)
	}
	return n
}

// Op adds an operation with one output and returns that output.
func (b *Builder) Op(op, name string, out Type, attrs Attrs, in ...Output) Output {
	return b.Node(op, name, []Type{out}, attrs, in...).Out(0)
}

// Const adds a constant.
func (b *Builder) Const(name string, t *tensor.Tensor) Output {
	return b.Op("Const", name, Type{t.DType, ShapeOf(t.Shape...)}, Attrs{"dtype": t.DType, "value": t})
}

// Scalar adds a rank-0 constant of a float or integer type, converted from v.
func (b *Builder) Scalar(name string, d tensor.DType, v float64) Output {
	var t *tensor.Tensor
	switch d {
	case tensor.Float32:
		t = tensor.Scalar(float32(v))
	case tensor.Float64:
		t = tensor.Scalar(v)
	case tensor.Int32:
		t = tensor.Scalar(int32(v))
	case tensor.Int64:
		t = tensor.Scalar(int64(v))
	default:
		b.Fail(fmt.Errorf("constant %s: no scalar of type %v", name, d))
		t = tensor.Scalar(float32(v))
	}
	return b.Const(name, t)
}

// Cast converts x to another element type. It returns x itself if x already has that type.
func (b *Builder) Cast(name string, x Output, to tensor.DType) Output {
	if !x.Valid() || x.DType() == to {
		return x
	}
	return b.Op("Cast", name, Type{DType: to, Shape: x.Shape()}, Attrs{"SrcT": x.DType(), "DstT": to, "Truncate": false}, x)
}

// Placeholder adds an input that is fed at run time.
func (b *Builder) Placeholder(name string, t Type) Output {
	return b.Op("Placeholder", name, t, Attrs{"dtype": t.DType, "shape": t.Shape})
}

// Variable adds a VarHandleOp for the variable of that name and returns its
// resource. Later calls with the name return the same node, even if another op
// had taken the name for its own node.
func (b *Builder) Variable(name string, t Type) Output {
	n := b.Graph.Node(name)
	for i := 1; n != nil; i++ {
		if shared := n.Str("shared_name"); n.Op == "VarHandleOp" && (shared == name || shared == "" && n.Name == name) {
			return n.Out(0)
		}
		n = b.Graph.Node(fmt.Sprintf("%s_%d", name, i))
	}
	return b.Op("VarHandleOp", name, Type{DType: tensor.Resource}, Attrs{
		"dtype": t.DType, "shape": t.Shape, "shared_name": []byte(name), "container": []byte{}})
}

// Read adds a ReadVariableOp after the given nodes.
func (b *Builder) Read(resource Output, t Type, after ...*Node) Output {
	if b.err != nil {
		return Output{}
	}
	n := b.Node("ReadVariableOp", resource.Node.Name+"/Read/ReadVariableOp", []Type{t}, Attrs{"dtype": t.DType}, resource)
	n.Control = after
	return n.Out(0)
}
