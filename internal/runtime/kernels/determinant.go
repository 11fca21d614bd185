package kernels

import "math"

// LogDeterminant returns the determinant's sign, 0 where the logarithm of its size is not finite, and that logarithm: -∞ also in place of NaN.
func (f Factors) LogDeterminant() (sign, log float64) {
	sign = f.Sign
	for k := range f.N {
		v := *f.At(k, k)
		if v < 0 {
			sign = -sign
		}
		log += math.Log(math.Abs(v))
	}
	switch {
	case math.IsInf(log, 1):
		return 0, log
	case math.IsInf(log, -1), math.IsNaN(log):
		return 0, math.Inf(-1)
	}
	return sign, log
}

// Determinant is the product of the pivots, which may leave the range of a float64 on the way; NaN where it is infinite.
func (f Factors) Determinant() float64 {
	if sign, log := f.LogDeterminant(); sign == 0 {
		return sign * math.Exp(log)
	}
	d, exponent := f.Sign, 0
	for k := range f.N {
		part, e := math.Frexp(*f.At(k, k) * d)
		d, exponent = part, exponent+e
	}
	return math.Ldexp(d, exponent)
}
