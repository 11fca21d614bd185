package special

import "math"

// NormalQuantile is the inverse of the normal distribution function at p from 0 to 1.
func NormalQuantile[T Float](p T) T {
	if p < 0 {
		return T(math.NaN())
	}
	if p > 0 && p < 1e-3 {
		return T(lowQuantile(float64(p)))
	}
	if p > 0.75 && p < 1 { // 1-p is rounded in the precision of p
		return -NormalQuantile(1 - p)
	}
	if p == 0.5 {
		return 0
	}
	return T(math.Sqrt2 * math.Erfinv(2*float64(p)-1))
}

// InverseErf is the inverse of the error function, computed from (1+x)/2, which loses values far below 1.
func InverseErf[T Float](x T) T { return NormalQuantile((x+1)/2) * T(math.Sqrt2/2) }

// lowQuantile is NormalQuantile of a small p, which 2p-1 would lose: a rational approximation (M. Abramowitz and I. Stegun, 26.2.22),
// refined by steps of Halley's method.
func lowQuantile(p float64) float64 {
	t := math.Sqrt(-2 * math.Log(p))
	x := (2.30753+0.27061*t)/(1+t*(0.99229+0.04481*t)) - t
	for range 3 {
		density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		u := (math.Erfc(-x/math.Sqrt2)/2 - p) / density
		x -= u / (1 + x*u/2)
	}
	return x
}
