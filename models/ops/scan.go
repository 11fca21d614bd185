package ops

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Scan says how a cumulative op runs along its dimension.
type Scan struct {
	Exclusive bool // each result excludes the element itself
	Reverse   bool // from the last to the first
}

// CumSum returns the cumulative sums of x along a dimension.
func CumSum(c models.Context, x *G.Node, along int, s Scan) *G.Node {
	return scan(c, "Cumsum", x, along, s, func(a *adjoint, k int) *G.Node { return CumSum(a, a.grad, k, s.back()) })
}

// CumProd returns the cumulative products of x along a dimension. As in TensorFlow, the
// gradient is 0 where x is 0.
func CumProd(c models.Context, x *G.Node, along int, s Scan) *G.Node {
	return scan(c, "Cumprod", x, along, s, func(a *adjoint, k int) *G.Node {
		return DivNoNan(a, CumSum(a, Mul(a, a.out, a.grad), k, s.back()), a.in[0])
	})
}

func (s Scan) back() Scan { return Scan{s.Exclusive, !s.Reverse} }

func scan(c models.Context, op string, x *G.Node, along int, s Scan, grad func(a *adjoint, k int) *G.Node) *G.Node {
	if !ready(c, op, x) {
		return nil
	}
	k, ok := axis(c, op, along, len(x.Shape()))
	if !ok {
		return nil
	}
	return apply(c, spec{op: op, outs: []kind{kindOf(x)}, consts: []operand{scalarInt("axis", k)},
		attrs: with(typeAttr(x.Dtype()), "Tidx", tensor.Int32, "exclusive", s.Exclusive, "reverse", s.Reverse),
		grad:  one(func(a *adjoint) *G.Node { return grad(a, k) })}, x)
}
