package kernels

import "math"

// LogDeterminant returns the determinant's sign, a number of absolute value 1, and the logarithm of its absolute value. If the logarithm
// is not finite, the sign is 0, and a NaN becomes -∞.
func (f Factors[T]) LogDeterminant() (sign T, log float64) {
	sign = FromReal[T](f.Sign)
	for k := range f.N {
		v := *f.At(k, k)
		size := Magnitude(v)
		sign *= v / FromReal[T](size)
		log += math.Log(size)
	}
	switch {
	case math.IsInf(log, 1):
		return 0, log
	case math.IsInf(log, -1), math.IsNaN(log):
		return 0, math.Inf(-1)
	}
	return sign, log
}

// Determinant returns the product of the pivots, even if partial products leave the range of a float64. It returns NaN for infinity.
func (f Factors[T]) Determinant() T {
	if sign, log := f.LogDeterminant(); sign == 0 {
		return sign * FromReal[T](math.Exp(log))
	}
	d, exponent := FromReal[T](f.Sign), 0
	for k := range f.N {
		v := *f.At(k, k)
		_, e := math.Frexp(Magnitude(v))
		d *= Ldexp(v, -e)
		_, more := math.Frexp(Magnitude(d))
		d, exponent = Ldexp(d, -more), exponent+e+more
	}
	return Ldexp(d, exponent)
}
