package engine

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// Inputs of products of 8-bit integers.
const (
	scaleInput = 5
	addInput   = 6
)

// integers fuses o, a float scale of the sums or an addend, into the integer product before it.
func (f *fuser) integers(o *op) {
	if len(o.in) != 2 || o.feed >= 0 || f.gone[o] || len(o.node.Outputs) != 1 || o.node.Outputs[0].DType != tensor.Float32 {
		return
	}
	for i := range o.in {
		if !whole(o, i) {
			continue
		}
		other := o.in[1-i]
		switch o.node.Op {
		case ops.Mul.Name:
			if cast := f.only(o.in[i]); cast != nil && cast.node.Op == ops.Cast.Name {
				if x := f.integerProduct(cast.in[0], tensor.Int32); x != nil && coefficients(other, o, true) {
					f.gone[cast] = true
					f.finish(o, x, scaleInput, other)
					return
				}
			}
		case ops.AddV2.Name, ops.Add.Name, ops.BiasAdd.Name:
			x := f.integerProduct(o.in[i], tensor.Float32)
			if x != nil && channelsLast(o.node) && typeOf(x.in[addInput]).Shape.ElementsAt(0) == 0 && coefficients(other, o, false) {
				f.finish(o, x, addInput, other)
				return
			}
		}
	}
}

// integerProduct returns the integer product with result p of type d if p has a single use, else nil.
func (f *fuser) integerProduct(p port, d tensor.DType) *op {
	x := f.only(p)
	if x == nil || x.node.Op != ops.IntegerMatMul.Name && x.node.Op != ops.IntegerConv2D.Name || x.node.Outputs[0].DType != d {
		return nil
	}
	return x
}

// coefficients reports whether p has a number for each column of o's result or, if one is set, a single number.
func coefficients(p port, o *op, one bool) bool {
	t := typeOf(p)
	out := o.node.Outputs[0].Shape.Dims
	if t.DType != tensor.Float32 || !t.Shape.Known() || len(out) == 0 || len(t.Shape.Dims) > len(out) {
		return false
	}
	dims := t.Shape.Dims
	for len(dims) > 0 && dims[0] == graph.Fixed(1) {
		dims = dims[1:]
	}
	return len(dims) == 0 && (one || len(t.Shape.Dims) > 0 && out[len(out)-1] == graph.Fixed(1)) || len(dims) == 1 && dims[0] == out[len(out)-1] && dims[0].Static()
}

// finish turns last into the product x with p as one more input.
func (f *fuser) finish(last, x *op, input int, p port) {
	attrs := maps.Clone(x.node.Attrs)
	attrs["Tout"] = tensor.Float32
	n := &graph.Node{Name: last.node.Name, Op: x.node.Op, Device: last.node.Device, Attrs: attrs, Outputs: last.node.Outputs}
	in := slices.Clone(x.in)
	in[input] = p
	last.node, last.in, last.after, last.def = n, in, append(slices.Clone(x.after), last.after...), registry()[n.Op]
	f.gone[x] = true
}
