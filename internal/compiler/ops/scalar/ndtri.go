package scalar

import "math"

// Ndtri is the inverse of the normal distribution.
func Ndtri(p float64) float64 {
	if p > 0 && p < 1e-3 {
		return lowQuantile(p)
	}
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// lowQuantile is Ndtri of a small p, which 2p-1 would lose: a rational approximation (M. Abramowitz and I. Stegun, 26.2.22) that steps
// by Halley's method make exact.
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
