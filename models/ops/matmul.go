package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// MatMul returns the matrix product of a [m,k] and b [k,n].
func MatMul(c models.Context, a, b *G.Node) *G.Node { return MatMulT(c, a, b, false, false) }

// MatMulT is MatMul with either matrix transposed first.
func MatMulT(c models.Context, a, b *G.Node, ta, tb bool) *G.Node {
	if !floats(c, "MatMul", a, b) || !rank(c, "MatMul", "a", a, 2) || !rank(c, "MatMul", "b", b, 2) {
		return nil
	}
	out, ok := product(a.Shape(), b.Shape(), ta, tb)
	if !ok {
		c.Core().Failf("MatMul: shapes %v and %v (transposed: %v, %v): the inner dimensions differ", a.Shape(), b.Shape(), ta, tb)
		return nil
	}
	return apply(c, spec{op: "MatMul", outs: []kind{{a.Dtype(), out}},
		attrs: with(typeAttr(a.Dtype()), "transpose_a", ta, "transpose_b", tb),
		grad:  func(x *adjoint) []*G.Node { return productGrad(x, ta, tb, MatMulT) }}, a, b)
}

// product returns the shape of the product of the last two dimensions.
func product(a, b []int, ta, tb bool) ([]int, bool) {
	la, lb := len(a), len(b)
	m, k := a[la-2], a[la-1]
	if ta {
		m, k = k, m
	}
	l, n := b[lb-2], b[lb-1]
	if tb {
		l, n = n, l
	}
	return []int{m, n}, k == l
}

type multiply func(c models.Context, a, b *G.Node, ta, tb bool) *G.Node

func productGrad(x *adjoint, ta, tb bool, mul multiply) []*G.Node {
	a, b, g := x.in[0], x.in[1], x.grad
	switch {
	case !ta && !tb:
		return []*G.Node{mul(x, g, b, false, true), mul(x, a, g, true, false)}
	case !ta && tb:
		return []*G.Node{mul(x, g, b, false, false), mul(x, g, a, true, false)}
	case ta && !tb:
		return []*G.Node{mul(x, b, g, false, true), mul(x, a, g, false, false)}
	}
	return []*G.Node{mul(x, b, g, true, true), mul(x, g, a, true, true)}
}

// BatchMatMul multiplies the matrices of the last two dimensions; ta and tb
// transpose them first. The leading dimensions broadcast by NumPy's rules.
func BatchMatMul(c models.Context, a, b *G.Node, ta, tb bool) *G.Node {
	const name = "BatchMatMulV2"
	if !floats(c, name, a, b) {
		return nil
	}
	as, bs := a.Shape(), b.Shape()
	if len(as) < 2 || len(bs) < 2 {
		c.Core().Failf("%s: shapes %v and %v: expected rank >= 2", name, as, bs)
		return nil
	}
	lead, fits := broadcast(as[:len(as)-2], bs[:len(bs)-2])
	if !fits {
		c.Core().Failf("%s: shapes %v and %v: expected leading dimensions that are equal or 1", name, as, bs)
		return nil
	}
	mn, ok := product(as, bs, ta, tb)
	if !ok {
		c.Core().Failf("%s: shapes %v and %v (transposed: %v, %v): the inner dimensions differ", name, as, bs, ta, tb)
		return nil
	}
	return apply(c, spec{op: name, outs: []kind{{a.Dtype(), append(lead, mn...)}},
		attrs: with(typeAttr(a.Dtype()), "adj_x", ta, "adj_y", tb),
		grad: func(x *adjoint) []*G.Node {
			d := productGrad(x, ta, tb, BatchMatMul)
			return []*G.Node{reduceLike(x, d[0], x.in[0]), reduceLike(x, d[1], x.in[1])}
		}}, a, b)
}
