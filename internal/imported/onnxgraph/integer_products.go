package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// integerProduct has the inputs of an 8-bit integer product besides its operands; nil fields are absent.
type integerProduct struct {
	zeroA, zeroB *value
	bias         *value // added to the sums
	scale, add   *value // float32: sums are multiplied by scale, then add is added
	zero         *value // zero point of 8-bit results
	to           tensor.DType
}

// ofBytes reports whether all values have 8 bits.
func ofBytes(all ...*value) bool {
	return !slices.ContainsFunc(all, func(v *value) bool {
		return v.dtype != tensor.Int8 && v.dtype != tensor.Uint8 || v.four != tensor.Invalid
	})
}

// inputs returns the inputs after the operands of an op with n columns, or nil if the op cannot take them, such as zero points for rows
// or of other types.
func (p *integerProduct) inputs(x *site, n int) []*value {
	ok := true
	// returns a scalar, or a vector for columns; a nil v becomes none, which changes nothing
	factor := func(v *value, d tensor.DType, none float64, columns bool) *value {
		switch {
		case v == nil:
			return x.scalar(d, none)
		case v.rank() == 1:
			size := v.dims()[0]
			ok = ok && (size == 1 || columns && size == n && n > 0)
		default:
			ok = ok && v.rank() == 0
		}
		return v
	}
	point := func(v *value, columns bool) *value {
		ok = ok && (v == nil || ofBytes(v))
		return factor(v, tensor.Int32, 0, columns)
	}
	addend := func(v *value, d tensor.DType) *value {
		if v == nil {
			return constant(tensor.New(d, 0))
		}
		ok = ok && v.dtype == d && v.rank() == 1 && v.dims()[0] == n && n > 0
		return v
	}
	in := []*value{point(p.zeroA, false), point(p.zeroB, true), addend(p.bias, tensor.Int32),
		factor(p.scale, tensor.Float32, 1, true), addend(p.add, tensor.Float32), point(p.zero, false)}
	if !ok {
		return nil
	}
	for i, d := range []tensor.DType{tensor.Int32, tensor.Int32, tensor.Int32, tensor.Float32, tensor.Float32, tensor.Int32} {
		in[i] = x.cast(in[i], d)
	}
	return in
}

// bytesProduct is a product of 8-bit matrices, or nil if it has to be done in another way.
func (x *site) bytesProduct(a, b *value, p *integerProduct) *value {
	if a.rank() < 2 || b.rank() < 2 || !ofBytes(a, b) {
		return nil
	}
	dims := b.dims()
	in := p.inputs(x, dims[len(dims)-1])
	if in == nil {
		return nil
	}
	return x.op(ops.IntegerMatMul, graph.Attrs{"Tout": p.to}, append([]*value{a, b}, in...)...)
}

// bytesConvolution is a convolution of 8-bit images, or nil if it has to be done in another way: with groups, for volumes, and with
// negative padding.
func (x *site) bytesConvolution(image, filter *value, p *integerProduct) *value {
	dims := filter.dims()
	if len(dims) < 3 || len(dims) > 4 || slices.Contains(dims, -1) || slices.Contains(dims, 0) || x.int("group", 1) != 1 || !ofBytes(image, filter) {
		return nil
	}
	if x.window(dims[2:]).settle(sizesOf(image)).negative() {
		return nil
	}
	in := p.inputs(x, dims[0])
	if in == nil {
		return nil
	}
	return x.convolved(image, filter, nil, func(u, filter *value, attrs graph.Attrs) *value {
		attrs["Tout"] = p.to
		return x.op(ops.IntegerConv2D, attrs, append([]*value{u, filter}, in...)...)
	})
}
