package ops

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Slice returns the part of x that begins at begin and has the given size; -1 is the
// rest of a dimension. Write 0 and -1 for the batch dimension.
func Slice(c models.Context, x *G.Node, begin, size []int) *G.Node {
	if !ready(c, "Slice", x) {
		return nil
	}
	s := []int(x.Shape())
	if len(begin) != len(s) || len(size) != len(s) {
		c.Core().Failf("Slice: begin %v and size %v of shape %v: expected one entry per dimension", begin, size, x.Shape())
		return nil
	}
	out, after, whole := make([]int, len(s)), make([]int, len(s)), true
	for i, d := range s {
		out[i] = size[i]
		if size[i] == -1 {
			out[i] = d - begin[i]
		}
		after[i] = d - begin[i] - out[i]
		if begin[i] < 0 || out[i] < 1 || after[i] < 0 {
			c.Core().Failf("Slice: begin %v and size %v lie outside of shape %v", begin, size, x.Shape())
			return nil
		}
		whole = whole && out[i] == d
	}
	if whole {
		return x
	}
	from := slices.Clone(begin)
	return apply(c, spec{op: "Slice", outs: []kind{{x.Dtype(), out}},
		consts: []operand{vector("begin", from...), vector("size", size...)},
		attrs:  with(typeAttr(x.Dtype()), "Index", tensor.Int32),
		grad:   one(func(a *adjoint) *G.Node { return Pad(a, a.grad, pairs(from, after)) })}, x)
}

func pairs(before, after []int) [][2]int {
	out := make([][2]int, len(before))
	for i := range out {
		out[i] = [2]int{before[i], after[i]}
	}
	return out
}

// Pad adds zeros before and after each dimension; paddings[i] has both counts.
func Pad(c models.Context, x *G.Node, paddings [][2]int) *G.Node {
	return padded(c, "Pad", x, paddings)
}

// PadValue is Pad with a value instead of zeros.
func PadValue(c models.Context, x *G.Node, paddings [][2]int, value float64) *G.Node {
	const name = "PadV2"
	if !ready(c, name, x) {
		return nil
	}
	t := scalarOf(models.GraphType(x.Dtype()), value)
	if t == nil {
		c.Core().Failf("%s: %v: expected float32, float64, int32 or int64", name, x.Dtype())
		return nil
	}
	return padded(c, name, x, paddings, operand{name: "constant_values", tensor: t})
}

// padded is Pad, or PadV2 with the operand that follows the paddings.
func padded(c models.Context, op string, x *G.Node, paddings [][2]int, value ...operand) *G.Node {
	if !ready(c, op, x) {
		return nil
	}
	s := []int(x.Shape())
	if len(paddings) != len(s) {
		c.Core().Failf("%s: %d paddings for shape %v: expected one pair per dimension", op, len(paddings), x.Shape())
		return nil
	}
	out, flat, begin, grows := make([]int, len(s)), []int{}, make([]int, len(s)), false
	size := wholeSize(x)
	for i, p := range paddings {
		if min(p[0], p[1]) < 0 || max(p[0], p[1]) > math.MaxInt32 {
			c.Core().Failf("%s: padding %v of dimension %d: expected >= 0 and below 2^31", op, p, i)
			return nil
		}
		out[i], begin[i] = s[i]+p[0]+p[1], p[0]
		if out[i] != s[i] {
			size[i], grows = s[i], true
		}
		flat = append(flat, p[0], p[1])
	}
	if !grows {
		return x
	}
	return apply(c, spec{op: op, outs: []kind{{x.Dtype(), out}},
		consts: append([]operand{{name: "paddings", shape: []int{len(s), 2}, ints: flat}}, value...),
		attrs:  with(typeAttr(x.Dtype()), "Tpaddings", tensor.Int32),
		grad:   one(func(a *adjoint) *G.Node { return Slice(a, a.grad, begin, size) })}, x)
}

// Tile repeats x multiples[i] times along dimension i.
func Tile(c models.Context, x *G.Node, multiples ...int) *G.Node {
	if !ready(c, "Tile", x) {
		return nil
	}
	s := []int(x.Shape())
	if len(multiples) != len(s) || len(s) == 0 || slices.Min(multiples) < 1 {
		c.Core().Failf("Tile: multiples %v of shape %v: expected one >= 1 per dimension", multiples, x.Shape())
		return nil
	}
	out, times := make([]int, len(s)), slices.Clone(multiples)
	for i, d := range s {
		out[i] = d * times[i]
	}
	return apply(c, spec{op: "Tile", outs: []kind{{x.Dtype(), out}}, consts: []operand{vector("multiples", multiples...)},
		attrs: with(typeAttr(x.Dtype()), "Tmultiples", tensor.Int32),
		grad:  one(func(a *adjoint) *G.Node { return untile(a, times) })}, x)
}

// untile sums the copies: the gradient as [m0, d0, m1, d1, ...], summed over the m.
func untile(a *adjoint, multiples []int) *G.Node {
	var shape, axes []int
	for i, d := range a.in[0].Shape() {
		shape, axes = append(shape, multiples[i], d), append(axes, 2*i)
	}
	return Sum(a, Reshape(a, a.grad, shape...), Axes(axes...))
}

// Transpose permutes the dimensions: dimension i of the result is dimension
// perm[i] of x.
func Transpose(c models.Context, x *G.Node, perm ...int) *G.Node {
	if !ready(c, "Transpose", x) {
		return nil
	}
	s := []int(x.Shape())
	out, inverse, seen := make([]int, len(s)), make([]int, len(s)), make([]bool, len(s))
	for i, p := range perm {
		if len(perm) != len(s) || p < 0 || p >= len(s) || seen[p] {
			c.Core().Failf("Transpose: %v: expected a permutation of the dimensions of shape %v", perm, x.Shape())
			return nil
		}
		out[i], inverse[p], seen[p] = s[p], i, true
	}
	if len(perm) != len(s) {
		c.Core().Failf("Transpose: %v: expected a permutation of the dimensions of shape %v", perm, x.Shape())
		return nil
	}
	return apply(c, spec{op: "Transpose", outs: []kind{{x.Dtype(), out}}, consts: []operand{vector("perm", perm...)},
		attrs: with(typeAttr(x.Dtype()), "Tperm", tensor.Int32),
		grad:  one(func(a *adjoint) *G.Node { return Transpose(a, a.grad, inverse...) })}, x)
}
