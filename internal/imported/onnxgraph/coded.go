package onnxgraph

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// coded has the 8-bit integers that a float32 value was made from: it is (u-zero)*scale. A quantizer writes float32 models in
// which each operand is such a value; their products are products of the integers, times the scales.
type coded struct {
	u, scale, zero *value // zero may be nil
	axis           int    // of scales and zero points, if there are several
}

// single reports whether there is only one scale and one zero point.
func (c *coded) single() bool {
	one := func(v *value) bool { return v == nil || v.rank() == 0 || len(v.dims()) == 1 && v.dims()[0] == 1 }
	return one(c.scale) && one(c.zero)
}

// codedProduct returns the further inputs of the integer product of a and b, or nil if they are not coded. The columns of b are
// along the given axis.
func (x *site) codedProduct(a, b *value, columns int) *integerProduct {
	if a.coded == nil || b.coded == nil || !a.coded.single() {
		return nil
	}
	p, q := a.coded, b.coded
	if !q.single() && (q.axis+b.rank())%b.rank() != columns {
		return nil
	}
	scale := x.op(ops.Mul, nil, x.cast(p.scale, tensor.Float32), x.cast(q.scale, tensor.Float32))
	return &integerProduct{zeroA: p.zero, zeroB: q.zero, scale: scale, to: tensor.Float32}
}

// codedGemm is Gemm for coded values, or nil if it has to be done in another way.
func (x *site) codedGemm(alpha, beta float64) *value {
	a, b, columns := x.at(0), x.at(1), 1
	if x.flag("transB", false) {
		columns = 0
	}
	p := x.codedProduct(a, b, columns)
	if p == nil || a.rank() != 2 || b.rank() != 2 {
		return nil
	}
	u, v := a.coded.u, b.coded.u
	if x.flag("transA", false) {
		u = x.transpose(u, []int{1, 0})
	}
	if columns == 0 {
		v = x.transpose(v, []int{1, 0})
	}
	p.scale = x.times(p.scale, alpha)
	if x.has(2) {
		p.add = x.times(x.at(2), beta)
	}
	return x.bytesProduct(u, v, p)
}
