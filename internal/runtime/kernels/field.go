package kernels

import (
	"math"
	"math/cmplx"
)

// Field is the element types of matrices.
type Field interface{ float64 | complex128 }

// Magnitude returns the absolute value of a number.
func Magnitude[T Field](v T) float64 {
	if z, ok := any(v).(complex128); ok {
		return cmplx.Abs(z)
	}
	return math.Abs(any(v).(float64))
}

// Real returns the real part of a number.
func Real[T Field](v T) float64 {
	if z, ok := any(v).(complex128); ok {
		return real(z)
	}
	return any(v).(float64)
}

// FromReal converts a real number to an element.
func FromReal[T Field](v float64) (out T) {
	switch p := any(&out).(type) {
	case *float64:
		*p = v
	case *complex128:
		*p = complex(v, 0)
	}
	return out
}

// Conj returns the conjugate of a number.
func Conj[T Field](v T) T {
	if z, ok := any(v).(complex128); ok {
		return any(cmplx.Conj(z)).(T)
	}
	return v
}

// Conjugates returns the conjugates of numbers. For real numbers it returns x itself, not a copy.
func Conjugates[T Field](x []T) []T {
	z, ok := any(x).([]complex128)
	if !ok {
		return x
	}
	out := make([]complex128, len(z))
	for i, v := range z {
		out[i] = cmplx.Conj(v)
	}
	return any(out).([]T)
}

// Ldexp returns v·2ⁿ.
func Ldexp[T Field](v T, n int) T {
	switch v := any(v).(type) {
	case complex128:
		return any(complex(math.Ldexp(real(v), n), math.Ldexp(imag(v), n))).(T)
	case float64:
		return any(math.Ldexp(v, n)).(T)
	}
	return v
}
