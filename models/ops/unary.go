package ops

import (
	"math"

	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// unary applies a TensorFlow op of one operand that keeps type and shape.
func unary(c models.Context, op string, x *G.Node, grad func(a *adjoint) *G.Node) *G.Node {
	if !floats(c, op, x) {
		return nil
	}
	return apply(c, spec{op: op, attrs: typeAttr(x.Dtype()), outs: []kind{kindOf(x)}, grad: one(grad)}, x)
}

// one returns the gradient rule of an op with one operand.
func one(grad func(a *adjoint) *G.Node) func(a *adjoint) []*G.Node {
	if grad == nil {
		return nil
	}
	return func(a *adjoint) []*G.Node { return []*G.Node{grad(a)} }
}

// gradOp applies one of TensorFlow's gradient ops, whose operands and output all have
// the same type and shape.
func gradOp(a *adjoint, op string, in ...*G.Node) *G.Node {
	if a.Failed() {
		return nil
	}
	return apply(a, spec{op: op, attrs: typeAttr(a.out.Dtype()), outs: []kind{kindOf(a.out)}}, in...)
}

// Neg returns -x.
func Neg(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Neg", x, func(a *adjoint) *G.Node { return Neg(a, a.grad) })
}

// Abs returns |x|, with gradient 0 at 0.
func Abs(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Abs", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Sign(a, a.in[0])) })
}

// Sign returns -1, 0 or 1. Its gradient is zero.
func Sign(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Sign", x, func(a *adjoint) *G.Node { return ZerosLike(a, a.in[0]) })
}

// Square returns x².
func Square(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Square", x, func(a *adjoint) *G.Node {
		return Mul(a, a.grad, Mul(a, a.in[0], scalarLike(a, a.in[0], 2)))
	})
}

// Sqrt returns √x.
func Sqrt(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Sqrt", x, func(a *adjoint) *G.Node { return gradOp(a, "SqrtGrad", a.out, a.grad) })
}

// Rsqrt returns 1/√x.
func Rsqrt(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Rsqrt", x, func(a *adjoint) *G.Node { return gradOp(a, "RsqrtGrad", a.out, a.grad) })
}

// Reciprocal returns 1/x.
func Reciprocal(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Reciprocal", x, func(a *adjoint) *G.Node { return gradOp(a, "ReciprocalGrad", a.out, a.grad) })
}

// Exp returns e^x.
func Exp(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Exp", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, a.out) })
}

// Expm1 returns e^x - 1, exact near 0.
func Expm1(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Expm1", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Exp(a, a.in[0])) })
}

// Log returns the natural logarithm of x.
func Log(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Log", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Reciprocal(a, a.in[0])) })
}

// Log1p returns log(1 + x), exact near 0.
func Log1p(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Log1p", x, func(a *adjoint) *G.Node {
		return Mul(a, a.grad, Reciprocal(a, Add(a, a.in[0], scalarLike(a, a.in[0], 1))))
	})
}

// Sin returns the sine of x, in radians.
func Sin(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Sin", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Cos(a, a.in[0])) })
}

// Cos returns the cosine of x, in radians.
func Cos(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Cos", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Neg(a, Sin(a, a.in[0]))) })
}

// Tan returns the tangent of x, in radians.
func Tan(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Tan", x, func(a *adjoint) *G.Node {
		return Mul(a, Square(a, Reciprocal(a, Cos(a, a.in[0]))), a.grad)
	})
}

// Asin returns the inverse sine of x, NaN outside of -1 to 1.
func Asin(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Asin", x, func(a *adjoint) *G.Node {
		cosine := Sqrt(a, Sub(a, scalarLike(a, a.in[0], 1), Square(a, a.in[0])))
		return Mul(a, a.grad, Reciprocal(a, cosine))
	})
}

// Acos returns the inverse cosine of x, from 0 to π, NaN outside of -1 to 1.
func Acos(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Acos", x, func(a *adjoint) *G.Node {
		sine := Sqrt(a, Sub(a, scalarLike(a, a.in[0], 1), Square(a, a.in[0])))
		return Mul(a, Neg(a, a.grad), Reciprocal(a, sine))
	})
}

// Sinh returns the hyperbolic sine of x.
func Sinh(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Sinh", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Cosh(a, a.in[0])) })
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Cosh", x, func(a *adjoint) *G.Node { return Mul(a, a.grad, Sinh(a, a.in[0])) })
}

// Asinh returns the inverse hyperbolic sine of x.
func Asinh(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Asinh", x, func(a *adjoint) *G.Node { return Div(a, a.grad, Cosh(a, a.out)) })
}

// Acosh returns the inverse hyperbolic cosine of x, NaN below 1.
func Acosh(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Acosh", x, func(a *adjoint) *G.Node { return Div(a, a.grad, Sinh(a, a.out)) })
}

// Erf returns the error function of x.
func Erf(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Erf", x, func(a *adjoint) *G.Node {
		top := Mul(a, a.grad, scalarLike(a, a.in[0], 2/math.Sqrt(math.Pi)))
		return Mul(a, top, Exp(a, Neg(a, Square(a, a.in[0]))))
	})
}

// Erfc returns 1 - Erf(x), exact where x is large.
func Erfc(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Erfc", x, func(a *adjoint) *G.Node {
		top := Mul(a, a.grad, scalarLike(a, a.in[0], -2/math.Sqrt(math.Pi)))
		return Mul(a, top, Exp(a, Neg(a, Square(a, a.in[0]))))
	})
}

// Atan returns the inverse tangent of x, from -π/2 to π/2.
func Atan(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Atan", x, func(a *adjoint) *G.Node {
		slope := Reciprocal(a, Add(a, scalarLike(a, a.in[0], 1), Square(a, a.in[0])))
		return Mul(a, a.grad, slope)
	})
}

// Atanh returns the inverse hyperbolic tangent of x, NaN outside of -1 to 1.
func Atanh(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Atanh", x, func(a *adjoint) *G.Node {
		slope := Reciprocal(a, Sub(a, scalarLike(a, a.in[0], 1), Square(a, a.in[0])))
		return Mul(a, a.grad, slope)
	})
}

// Floor returns the largest integer not above x. Its gradient is zero.
func Floor(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Floor", x, func(a *adjoint) *G.Node { return ZerosLike(a, a.in[0]) })
}

// Round returns the nearest integer, halves to even. Its gradient is zero.
func Round(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Round", x, func(a *adjoint) *G.Node { return ZerosLike(a, a.in[0]) })
}
