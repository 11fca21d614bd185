package session

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// integers is a product of 8-bit integers. The host has the op; for other devices it becomes a product of floats with exact sums.
func integers(x *emission) ([]graph.Output, error) {
	if x.p.s.dev.Kind() == device.KindHost {
		return asItIs(x)
	}
	e := &integerExpansion{x}
	return []graph.Output{e.result(e.sums())}, x.b.Err()
}

// integerExpansion is such a product, written as ops on floats.
type integerExpansion struct{ *emission }

// typed adds a helper node with a result of that type.
func (e *integerExpansion) typed(op *ops.Def, d tensor.DType, s graph.Shape, attrs graph.Attrs, in ...graph.Output) graph.Output {
	n := e.add(op.Name, []graph.Type{{DType: d, Shape: s}}, attrs, in...)
	if n == nil {
		return graph.Output{}
	}
	return n.Out(0)
}

func (e *integerExpansion) cast(o graph.Output, d tensor.DType) graph.Output {
	if !o.Valid() || o.DType() == d {
		return o
	}
	return e.typed(ops.Cast, d, o.Shape(), graph.Attrs{"SrcT": o.DType(), "DstT": d}, o)
}

// maxExact is how many products of 8-bit numbers have a sum that float32 holds exactly.
const maxExact = 1 << 24 / (255 * 255)

// maxIn32 is how many products of 8-bit numbers have a sum that fits in 32 bits.
const maxIn32 = 1 << 31 / (255 * 255)

// sums returns the sums of products and the bias: as floats, or, if they may not fit in 32 bits, as int32, wrapped around.
func (e *integerExpansion) sums() graph.Output {
	filter, out := e.in[1].Shape(), e.types[0].Shape
	terms := 1
	for _, d := range filter.Dims[:len(filter.Dims)-1] {
		terms *= max(d.Const, 1) + d.PerBatch*maxExact
	}
	d := tensor.Float64
	if terms <= maxExact {
		d = tensor.Float32
	}
	less := func(i, zero int) graph.Output {
		return e.typed(ops.Sub, d, e.in[i].Shape(), nil, e.cast(e.in[i], d), e.cast(e.in[zero], d))
	}
	a, b := less(0, 2), less(1, 3)
	var y graph.Output
	switch {
	case e.n.Op == ops.IntegerConv2D.Name:
		y = e.typed(ops.Conv2D, d, out, e.attrs, a, b)
	case len(filter.Dims) == 2 && len(out.Dims) == 2:
		y = e.typed(ops.MatMul, d, out, nil, a, b)
	default:
		y = e.typed(ops.BatchMatMulV2, d, out, nil, a, b)
	}
	if e.given(4) { // 32-bit integers, which float32 does not hold
		y = e.typed(ops.AddV2, tensor.Float64, out, nil, e.cast(y, tensor.Float64), e.cast(e.in[4], tensor.Float64))
	}
	if e.given(4) || terms > maxIn32 {
		y = e.cast(e.cast(y, tensor.Int64), tensor.Int32)
	}
	return y
}

// given reports whether there is an addend.
func (e *integerExpansion) given(i int) bool { return e.in[i].Shape().ElementsAt(0) > 0 }

// result computes the node's result from the sums.
func (e *integerExpansion) result(y graph.Output) graph.Output {
	to, s := e.types[0].DType, e.types[0].Shape
	if to == tensor.Int32 {
		return e.cast(y, to)
	}
	step := func(op *ops.Def, in ...graph.Output) graph.Output {
		return e.typed(op, tensor.Float32, s, nil, in...)
	}
	y = step(ops.Mul, e.cast(y, tensor.Float32), e.in[5])
	if e.given(6) {
		y = step(ops.AddV2, y, e.in[6])
	}
	if to == tensor.Float32 {
		return y
	}
	low, high := float32(0), float32(255)
	if to == tensor.Int8 {
		low, high = -128, 127
	}
	limit := func(v float32) graph.Output {
		return e.b.Const(e.b.Graph.UniqueName(e.n.Name+"/limit"), tensor.Scalar(v))
	}
	y = step(ops.AddV2, step(ops.Round, y), e.cast(e.in[7], tensor.Float32))
	return e.cast(step(ops.Minimum, step(ops.Maximum, y, limit(low)), limit(high)), to)
}
