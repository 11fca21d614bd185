package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Stack joins tensors of the same shape along a new dimension, along (TensorFlow's Pack).
func Stack(c models.Context, along int, in ...*G.Node) *G.Node {
	const name = "Pack"
	if len(in) == 0 {
		c.Core().Failf("%s: no operands: expected at least one", name)
		return nil
	}
	if !sameType(c, name, in...) {
		return nil
	}
	s := []int(in[0].Shape())
	k, ok := axis(c, name, along, len(s)+1)
	if !ok {
		return nil
	}
	for i, n := range in {
		if !slices.Equal([]int(n.Shape()), s) {
			c.Core().Failf("%s: operand 0 has shape %v, operand %d %v: expected one shape", name, s, i, n.Shape())
			return nil
		}
	}
	return apply(c, spec{op: name, outs: []kind{{in[0].Dtype(), slices.Insert(slices.Clone(s), k, len(in))}},
		attrs: with(typeAttr(in[0].Dtype()), "N", int64(len(in)), "axis", int64(k)),
		grad:  func(a *adjoint) []*G.Node { return Unstack(a, a.grad, k) }}, in...)
}

// Unstack splits x into its parts along a dimension, which the parts do not have.
func Unstack(c models.Context, x *G.Node, along int) []*G.Node {
	if !ready(c, "Unpack", x) {
		return nil
	}
	s := []int(x.Shape())
	k, ok := axis(c, "Unpack", along, len(s))
	if !ok {
		return nil
	}
	var out []*G.Node
	for _, part := range Split(c, x, s[k], k) {
		out = append(out, Reshape(c, part, slices.Concat(s[:k], s[k+1:])...))
	}
	return out
}

// Split splits x along a dimension into n parts of equal size.
func Split(c models.Context, x *G.Node, n, along int) []*G.Node {
	if !ready(c, "Split", x) {
		return nil
	}
	s := []int(x.Shape())
	k, ok := axis(c, "Split", along, len(s))
	if !ok {
		return nil
	}
	if n < 1 || s[k]%n != 0 {
		c.Core().Failf("Split: %d parts of dimension %d of shape %v: expected a divisor of %d", n, k, s, s[k])
		return nil
	}
	return SplitSizes(c, x, slices.Repeat([]int{s[k] / n}, n), k)
}

// SplitSizes splits x along a dimension into parts of the given sizes, which must sum to the dimension's size.
func SplitSizes(c models.Context, x *G.Node, sizes []int, along int) []*G.Node {
	if !ready(c, "Split", x) {
		return nil
	}
	k, ok := axis(c, "Split", along, len(x.Shape()))
	if !ok {
		return nil
	}
	sum, fits := 0, true
	for _, n := range sizes {
		sum += n
		fits = fits && n >= 1
	}
	if !fits || sum != x.Shape()[k] {
		c.Core().Failf("Split: sizes %v of dimension %d of shape %v: expected sizes >= 1 and a sum of %d", sizes, k, x.Shape(), x.Shape()[k])
		return nil
	}
	begin := make([]int, len(x.Shape()))
	var out []*G.Node
	for _, n := range sizes {
		size := wholeSize(x)
		size[k] = n
		out = append(out, Slice(c, x, slices.Clone(begin), size))
		begin[k] += n
	}
	return out
}

// Reverse reverses the order of elements along the given dimensions.
func Reverse(c models.Context, x *G.Node, axes ...int) *G.Node {
	if !ready(c, "StridedSlice", x) {
		return nil
	}
	if len(axes) == 0 {
		return x
	}
	turned, ok := axesOf(c, "StridedSlice", axes, len(x.Shape()))
	if !ok {
		return nil
	}
	strides := slices.Repeat([]int{1}, len(x.Shape()))
	mask := int64(1)<<len(x.Shape()) - 1
	for _, k := range turned {
		strides[k] = -1
	}
	n := make([]int, len(strides))
	return strided(c, x, slicing{begin: n, end: n, strides: strides, beginMask: mask, endMask: mask}, x.Shape())
}

// slicing are the operands and masks of a StridedSlice.
type slicing struct {
	begin, end, strides []int
	beginMask, endMask  int64
}

// strided applies StridedSlice, which gives a tensor of shape out.
func strided(c models.Context, x *G.Node, s slicing, out []int) *G.Node {
	attrs := with(typeAttr(x.Dtype()), "Index", tensor.Int32, "begin_mask", s.beginMask, "end_mask", s.endMask,
		"ellipsis_mask", int64(0), "new_axis_mask", int64(0), "shrink_axis_mask", int64(0))
	consts := []operand{vector("begin", s.begin...), vector("end", s.end...), vector("strides", s.strides...)}
	return apply(c, spec{op: "StridedSlice", outs: []kind{{x.Dtype(), slices.Clone(out)}}, consts: consts, attrs: attrs,
		grad: one(func(a *adjoint) *G.Node { return stridedGrad(a, consts) })}, x)
}
