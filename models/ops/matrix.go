package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Cholesky returns, for each symmetric positive definite matrix of x [..., n, n], the
// lower triangle L with L·Lᵀ = x. It reads only the lower triangle of x. Other matrices
// give NaN. The gradient is symmetric, as in TensorFlow.
func Cholesky(c models.Context, x *G.Node) *G.Node {
	return ofMatrices(c, "Cholesky", x, choleskyGrad)
}

// MatrixInverse returns the inverse of each matrix of x [..., n, n]. For a singular
// matrix the step fails.
func MatrixInverse(c models.Context, x *G.Node) *G.Node {
	return ofMatrices(c, "MatrixInverse", x, func(a *adjoint) *G.Node {
		return Neg(a, BatchMatMul(a, a.out, BatchMatMul(a, a.grad, a.out, false, true), true, false))
	})
}

func ofMatrices(c models.Context, op string, x *G.Node, grad func(a *adjoint) *G.Node) *G.Node {
	if !floats(c, op, x) {
		return nil
	}
	if s, r := x.Shape(), len(x.Shape()); r < 2 || s[r-1] != s[r-2] {
		c.Core().Failf("%s: shape %v: expected square matrices [..., n, n]", op, s)
		return nil
	}
	attrs := typeAttr(x.Dtype())
	if op == "MatrixInverse" {
		attrs["adjoint"] = false
	}
	return apply(c, spec{op: op, attrs: attrs, outs: []kind{kindOf(x)}, grad: one(grad)}, x)
}

// choleskyGrad is (S+Sᵀ)/2 with S = L⁻ᵀ·Φ(Lᵀ·g)·L⁻¹, where Φ keeps the lower triangle
// and half the diagonal (Iain Murray, arXiv:1602.07527).
func choleskyGrad(a *adjoint) *G.Node {
	l := a.out
	r := len(l.Shape())
	at := places(a, l, r-1)
	rows, cols := ExpandDims(a, at, 1), ExpandDims(a, at, 0)
	half, one, zero := scalarLike(a, l, 0.5), scalarLike(a, l, 1), scalarLike(a, l, 0)
	p := BatchMatMul(a, l, a.grad, true, false)
	p = Where(a, Equal(a, rows, cols), Mul(a, p, half), p)
	p = Where(a, GreaterEqual(a, rows, cols), p, zero)
	// A matrix without a triangle keeps its NaN through p; inverting it would be an error.
	usable := Where(a, NotEqual(a, l, l), Where(a, Equal(a, rows, cols), one, zero), l)
	inverse := MatrixInverse(a, usable)
	s := BatchMatMul(a, inverse, BatchMatMul(a, p, inverse, false, false), true, false)
	if a.Failed() {
		return nil
	}
	perm := make([]int, r)
	for i := range perm {
		perm[i] = i
	}
	slices.Reverse(perm[r-2:])
	return Mul(a, Add(a, s, Transpose(a, s, perm...)), half)
}
