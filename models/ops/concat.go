package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Concat joins tensors along an axis, the only one in which they may differ. Along the
// batch axis it has a gradient only if all operands have the same number of rows, since
// otherwise their places depend on the batch size, unknown when the graph is built.
func Concat(c models.Context, along int, in ...*G.Node) *G.Node {
	const name = "ConcatV2"
	if len(in) == 0 {
		c.Core().Failf("%s: no operands: expected at least one", name)
		return nil
	}
	if !sameType(c, name, in...) {
		return nil
	}
	if len(in) == 1 {
		return in[0]
	}
	out := []int(in[0].Shape())
	k, ok := axis(c, name, along, len(out))
	if !ok {
		return nil
	}
	for _, n := range in[1:] {
		s := []int(n.Shape())
		if len(s) != len(out) || !slices.Equal(s[:k], out[:k]) || !slices.Equal(s[k+1:], out[k+1:]) {
			c.Core().Failf("%s: shapes %v and %v: expected to differ along axis %d alone", name, in[0].Shape(), n.Shape(), k)
			return nil
		}
		out[k] += s[k]
	}
	return apply(c, spec{op: name, outs: []kind{{in[0].Dtype(), out}}, consts: []operand{scalarInt("axis", k)},
		attrs: with(typeAttr(in[0].Dtype()), "N", int64(len(in)), "Tidx", tensor.Int32),
		grad:  func(a *adjoint) []*G.Node { return unconcat(a, k) }}, in...)
}

// unconcat splits the gradient into the operands' parts.
func unconcat(a *adjoint, k int) []*G.Node {
	if rows := a.in[0].Shape()[k]; k == 0 && !slices.ContainsFunc(a.in, func(n *G.Node) bool { return n.Shape()[0] != rows }) {
		return unstack(a)
	}
	var out []*G.Node
	begin := make([]int, len(a.out.Shape()))
	for _, n := range a.in {
		size := wholeSize(n)
		size[k] = n.Shape()[k]
		out = append(out, Slice(a, a.grad, begin, size))
		begin = slices.Clone(begin)
		begin[k] += n.Shape()[k]
	}
	return out
}

// unstack splits the gradient into parts with equal numbers of rows, which may be unknown.
func unstack(a *adjoint) []*G.Node {
	rest := []int(a.in[0].Shape()[1:])
	parts := Reshape(a, a.grad, append([]int{len(a.in), -1}, rest...)...)
	begin, size := make([]int, len(rest)+2), slices.Repeat([]int{-1}, len(rest)+2)
	size[0] = 1
	var out []*G.Node
	for i := range a.in {
		begin[0] = i
		out = append(out, Reshape(a, Slice(a, parts, slices.Clone(begin), slices.Clone(size)), append([]int{-1}, rest...)...))
	}
	return out
}

// wholeSize is the Slice size that selects everything from begin on.
func wholeSize(n *G.Node) []int { return slices.Repeat([]int{-1}, len(n.Shape())) }
