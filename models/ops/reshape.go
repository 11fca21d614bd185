package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Reshape gives x another shape with the same number of elements. One dimension may be
// -1 and is inferred. Write -1 for the batch dimension, or pass x.Shape()[0].
func Reshape(c models.Context, x *G.Node, shape ...int) *G.Node {
	if !ready(c, "Reshape", x) {
		return nil
	}
	target := slices.Clone(shape)
	if i := slices.Index(target, -1); i >= 0 {
		target[i] = 1
		if n := elements(target); n > 0 && elements(x.Shape())%n == 0 {
			target[i] = elements(x.Shape()) / n
		}
	}
	if elements(target) != elements(x.Shape()) || slices.Min(append([]int{1}, target...)) < 1 {
		c.Core().Failf("Reshape: %v does not hold the %d elements of shape %v", shape, elements(x.Shape()), x.Shape())
		return nil
	}
	if slices.Equal(target, []int(x.Shape())) {
		return x
	}
	return apply(c, spec{op: "Reshape", outs: []kind{{x.Dtype(), target}}, consts: []operand{vector("shape", target...)},
		attrs: with(typeAttr(x.Dtype()), "Tshape", tensor.Int32),
		grad:  one(func(a *adjoint) *G.Node { return reshapeLike(a, a.grad, a.in[0]) })}, x)
}

// reshapeLike gives g the shape of x.
func reshapeLike(c models.Context, g, x *G.Node) *G.Node { return Reshape(c, g, x.Shape()...) }

// Flatten gives x the shape [batch, rest].
func Flatten(c models.Context, x *G.Node) *G.Node {
	if !ready(c, "Flatten", x) {
		return nil
	}
	s := x.Shape()
	if len(s) == 0 {
		c.Core().Failf("Flatten: the operand is a scalar: expected a batch dimension")
		return nil
	}
	return Reshape(c, x, -1, elements(s[1:]))
}

// ExpandDims inserts a dimension of 1 at the axis (0..rank, or negative: -1 appends).
func ExpandDims(c models.Context, x *G.Node, at int) *G.Node {
	if !ready(c, "ExpandDims", x) {
		return nil
	}
	k, ok := axis(c, "ExpandDims", at, len(x.Shape())+1)
	if !ok {
		return nil
	}
	return apply(c, spec{op: "ExpandDims", outs: []kind{{x.Dtype(), slices.Insert([]int(x.Shape()), k, 1)}},
		consts: []operand{scalarInt("dim", k)}, attrs: with(typeAttr(x.Dtype()), "Tdim", tensor.Int32),
		grad: one(func(a *adjoint) *G.Node { return reshapeLike(a, a.grad, a.in[0]) })}, x)
}

// Squeeze removes the given dimensions, which must be 1; without any, all dimensions of 1.
func Squeeze(c models.Context, x *G.Node, axes ...int) *G.Node {
	if !ready(c, "Squeeze", x) {
		return nil
	}
	s := x.Shape()
	if len(axes) == 0 {
		for i, d := range s {
			if d == 1 {
				axes = append(axes, i)
			}
		}
		if len(axes) == 0 {
			return x
		}
	}
	drop, ok := axesOf(c, "Squeeze", axes, len(s))
	if !ok {
		return nil
	}
	dims := make([]int64, len(drop))
	for i, k := range drop {
		if s[k] != 1 {
			c.Core().Failf("Squeeze: dimension %d of shape %v: expected 1", k, s)
			return nil
		}
		dims[i] = int64(k)
	}
	_, out := reducedShapes(s, drop)
	return apply(c, spec{op: "Squeeze", outs: []kind{{x.Dtype(), out}}, attrs: with(typeAttr(x.Dtype()), "squeeze_dims", dims),
		grad: one(func(a *adjoint) *G.Node { return reshapeLike(a, a.grad, a.in[0]) })}, x)
}
