package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	gtensor "gorgonia.org/tensor"
)

// emission adds the nodes of one op to the intermediate representation.
type emission struct {
	*lower.Emitter
	*spec
	in []graph.Output
}

// Lower adds the op's nodes under its own name; the operands are dense.
func (o *op) Lower(e *lower.Emitter, in []lower.Value) ([]lower.Value, error) {
	own := *e
	own.Name = o.name
	m := &emission{Emitter: &own, spec: &o.spec}
	for _, v := range in {
		m.in = append(m.in, v.Output)
	}
	if o.rows != nil {
		v := o.rows(m)
		return []lower.Value{v}, e.Err()
	}
	emit := o.emit
	if emit == nil {
		emit = (*emission).single
	}
	var out []lower.Value
	for _, v := range emit(m) {
		out = append(out, lower.Value{Output: v})
	}
	return out, e.Err()
}

// single emits one node with the op's own name, attributes and operands.
func (e *emission) single() []graph.Output { return e.all(e.in...) }

// all emits the op's one node on the given operands, constant ones appended.
func (e *emission) all(in ...graph.Output) []graph.Output {
	in = append([]graph.Output(nil), in...)
	for _, c := range e.consts {
		in = append(in, e.constant(c))
	}
	var types []graph.Type
	for _, k := range e.outs {
		types = append(types, k.graph())
	}
	n := e.Node(e.op, e.Name, types, e.attrs, in...)
	out := make([]graph.Output, len(types))
	for i := range out {
		out[i] = n.Out(i)
	}
	return out
}

func (e *emission) constant(c operand) graph.Output {
	if c.tensor != nil {
		return e.Const(e.Name+"/"+c.name, c.tensor)
	}
	shape := c.shape
	if shape == nil {
		shape = []int{len(c.ints)}
	}
	t := tensor.New(tensor.Int32, shape...)
	v := tensor.Values[int32](t)
	for i, n := range c.ints {
		v[i] = int32(n)
	}
	return e.Const(e.Name+"/"+c.name, t)
}

// shapeOf emits the shape of x as an int32 vector.
func (e *emission) shapeOf(x graph.Output) graph.Output {
	if !x.Valid() {
		return graph.Output{}
	}
	return e.Op("Shape", e.Name+"/Shape", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(x.Shape().Rank())},
		graph.Attrs{"T": x.DType(), "out_type": tensor.Int32}, x)
}

// count emits the number of elements of x, as a scalar of x's type.
func (e *emission) count(x graph.Output) graph.Output {
	if !x.Valid() {
		return graph.Output{}
	}
	n := e.Op("Size", e.Name+"/Size", graph.Type{DType: tensor.Int32}, graph.Attrs{"T": x.DType(), "out_type": tensor.Int32}, x)
	return e.cast(n, x.DType())
}

func (e *emission) cast(x graph.Output, d tensor.DType) graph.Output {
	return e.Op("Cast", e.Name+"/Cast", graph.Type{DType: d, Shape: x.Shape()},
		graph.Attrs{"SrcT": x.DType(), "DstT": d, "Truncate": false}, x)
}

// typeAttr returns the attribute T with that element type.
func typeAttr(dt gtensor.Dtype) graph.Attrs { return graph.Attrs{"T": models.GraphType(dt)} }

// with returns a with more entries: name, value, name, value, ...
func with(a graph.Attrs, more ...any) graph.Attrs {
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return a
}
