package eager

import (
	"math"
	"math/cmplx"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// complexUnary has functions of one complex number, by the op for real numbers.
var complexUnary = map[*ops.Def]func(complex128) complex128{
	ops.Neg: func(x complex128) complex128 { return -x }, ops.Square: func(x complex128) complex128 { return x * x }, ops.Sqrt: cmplx.Sqrt, ops.Exp: complexExp, ops.Log: cmplx.Log,
	ops.Rsqrt: complexRsqrt, ops.Inv: func(x complex128) complex128 { return 1 / x }, ops.Reciprocal: func(x complex128) complex128 { return 1 / x },
	ops.Sin: complexSin, ops.Cos: complexCos, ops.Tan: complexTan, ops.Asin: complexAsin, ops.Acos: complexAcos, ops.Atan: complexAtan,
	ops.Sinh: complexSinh, ops.Cosh: complexCosh, ops.Tanh: complexTanh, ops.Asinh: complexAsinh, ops.Acosh: complexAcosh, ops.Atanh: complexAtanh,
	ops.Sigmoid: func(x complex128) complex128 { return 1 / (1 + complexExp(-x)) }, ops.Sign: complexSign, ops.Log1p: complexLog1p, ops.Expm1: complexExpm1,
}

// complexRsqrt does not distinguish the sides of the branch cut.
func complexRsqrt(x complex128) complex128 {
	if real(x) < 0 && imag(x) == 0 {
		return complex(0, -1/math.Sqrt(-real(x)))
	}
	return 1 / cmplx.Sqrt(x)
}

// complexSign is the number of length 1 in the same direction, or 0 for 0.
func complexSign(x complex128) complex128 {
	if x == 0 {
		return 0
	}
	return x / complex(cmplx.Abs(x), 0)
}

// complexLog1p is log(1+x), precise near 0: the log of the modulus is log1p(|1+x|^2 - 1) / 2.
func complexLog1p(x complex128) complex128 {
	re, im := real(x), imag(x)
	if cmplx.Abs(x) > 0.5 {
		return cmplx.Log(complex(1+re, im))
	}
	return complex(math.Log1p(re*(2+re)+im*im)/2, math.Atan2(im, 1+re))
}

// complexExpm1 is exp(x)-1, precise near 0.
func complexExpm1(x complex128) complex128 {
	re, im := real(x), imag(x)
	half := math.Sin(im / 2)
	return complex(math.Expm1(re)*math.Cos(im)-2*half*half, math.Exp(re)*math.Sin(im))
}

// complexBinary has functions of two complex numbers, by the op for real numbers.
var complexBinary = map[*ops.Def]func(a, b complex128) complex128{
	ops.Add: complexSum, ops.AddV2: complexSum, ops.Sub: func(a, b complex128) complex128 { return a - b }, ops.Mul: complexProduct, ops.Div: complexQuotient, ops.RealDiv: complexQuotient, ops.Pow: complexPower,
	ops.SquaredDifference: func(a, b complex128) complex128 { return cmplx.Conj(a-b) * (a - b) },
	ops.DivNoNan:          func(a, b complex128) complex128 { return unlessZero(b, a/b) },
	ops.MulNoNan:          func(a, b complex128) complex128 { return unlessZero(b, a*b) },
	ops.Xdivy:             func(a, b complex128) complex128 { return unlessZero(a, a/b) },
	ops.Xlogy:             func(a, b complex128) complex128 { return unlessZero(a, a*cmplx.Log(b)) },
	ops.Xlog1py:           func(a, b complex128) complex128 { return unlessZero(a, a*complexLog1p(b)) },
}

func complexSum(a, b complex128) complex128      { return a + b }
func complexProduct(a, b complex128) complex128  { return a * b }
func complexQuotient(a, b complex128) complex128 { return a / b }

// complexPower is C++'s: any number to the power 0 is 1, and 0 to any other power is 0.
func complexPower(a, b complex128) complex128 {
	switch {
	case b == 0:
		return 1
	case a == 0:
		return 0
	}
	return complexExp(b * cmplx.Log(a))
}

// unlessZero returns v, or 0 if x is 0.
func unlessZero(x, v complex128) complex128 {
	if x == 0 {
		return 0
	}
	return v
}

// withComplex adds an op's kernels for complex numbers, if it has any.
func withComplex(t *typed, op *ops.Def) *typed {
	if f := complexUnary[op]; f != nil {
		return t.complexes(eachOf(func(x complex64) complex64 { return complex64(f(complex128(x))) }), eachOf(f))
	}
	if f := complexBinary[op]; f != nil {
		return t.complexes(pairs(func(a, b complex64) complex64 { return complex64(f(complex128(a), complex128(b))) }), pairs(f))
	}
	return t
}
