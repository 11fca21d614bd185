package special

import "math"

// Modified Bessel functions are integrals over an angle (DLMF 10.32.2) and over a hyperbolic one (10.32.9), on which the trapezoidal rule
// converges exponentially.

// besselIe returns exp(-|x|) times the modified Bessel function of the first kind of order 0 or 1.
func besselIe(order int, x float64) float64 {
	sign := 1.0
	if x < 0 {
		x = -x
		if order == 1 {
			sign = -1
		}
	}
	if math.IsInf(x, 0) || x != x {
		return sign / x
	}
	if x > 40 { // the asymptotic expansion, DLMF 10.40.1: its terms fall until the 80th
		mu, sum, term := float64(4*order*order), 1.0, 1.0
		for k := 1.0; math.Abs(term) > 1e-17; k++ {
			term *= ((2*k-1)*(2*k-1) - mu) / (8 * k) / x
			sum += term
		}
		return sign / math.Sqrt(2*math.Pi) / math.Sqrt(x) * sum
	}
	n := 32 + int(12*math.Sqrt(x))
	sum := 0.0
	for k := range n {
		theta := math.Pi * (float64(k) + 0.5) / float64(n)
		half := math.Sin(theta / 2)
		v := math.Exp(-2 * x * half * half)
		if order == 1 {
			v *= x * math.Sin(theta) * math.Sin(theta)
		}
		sum += v
	}
	return sign * sum / float64(n)
}

// besselKe returns exp(x) times the modified Bessel function of the second kind of order 0 or 1.
func besselKe(order int, x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(1)
	case math.IsInf(x, 1):
		return 0
	case x < 1e-8:
		return besselKeNear0(order, x)
	}
	if x > 1e6 { // the asymptotic expansion, DLMF 10.40.2
		mu := float64(4 * order * order)
		return math.Sqrt(math.Pi/2) / math.Sqrt(x) * (1 + (mu-1)/8/x + (mu-1)/8/x*(mu-9)/16/x)
	}
	const step = 1. / 16
	h := step / math.Max(1, math.Sqrt(x)) // for large x everything is near 0
	sum := 0.5
	for k := 1; ; k++ {
		t := h * float64(k)
		half := math.Sinh(t / 2)
		v := math.Exp(-2 * x * half * half)
		if order == 1 {
			v *= math.Cosh(t)
		}
		if sum += v; v < sum*1e-18 {
			return sum * h
		}
	}
}

// besselKeNear0 is besselKe for an x so small that the first terms of its series are enough (DLMF 10.31.1 and 10.31.2).
func besselKeNear0(order int, x float64) float64 {
	log := math.Log(x) - math.Ln2 + eulerGamma
	if order == 0 {
		return math.Exp(x) * -log
	}
	return math.Exp(x) * (1/x + x/2*(log-0.5))
}

// BesselI0 is the modified Bessel function of the first kind, order 0.
func BesselI0[T Float](x T) T { return besselI(0, x) }

// BesselI0e is BesselI0 times exp(-|x|).
func BesselI0e[T Float](x T) T { return T(besselIe(0, float64(x))) }

// BesselI1 is the modified Bessel function of the first kind, order 1.
func BesselI1[T Float](x T) T { return besselI(1, x) }

// BesselI1e is BesselI1 times exp(-|x|).
func BesselI1e[T Float](x T) T { return T(besselIe(1, float64(x))) }

// BesselK0 is the modified Bessel function of the second kind, order 0.
func BesselK0[T Float](x T) T { return besselK(0, x, false) }

// BesselK0e is BesselK0 times exp(x).
func BesselK0e[T Float](x T) T { return besselK(0, x, true) }

// BesselK1 is the modified Bessel function of the second kind, order 1.
func BesselK1[T Float](x T) T { return besselK(1, x, false) }

// BesselK1e is BesselK1 times exp(x).
func BesselK1e[T Float](x T) T { return besselK(1, x, true) }

// besselI is the modified Bessel function of the first kind. It is infinite where exp is.
func besselI[T Float](order int, x T) T {
	return T(besselIe(order, float64(x))) * expOf(absOf(x))
}

// besselK is the modified Bessel function of the second kind. It is infinite at 0 and, as in TensorFlow, below. Where x/2 is subnormal,
// TensorFlow takes it for 0.
func besselK[T Float](order int, x T, scaled bool) T {
	switch least := SmallestNormal[T](); {
	case x <= 0 || x < 2*least && order == 0:
		return T(math.Inf(1))
	case x < 2*least:
		return T(math.NaN())
	case scaled:
		return T(besselKe(order, float64(x)))
	}
	return T(besselKe(order, float64(x)) * math.Exp(-float64(x)))
}
