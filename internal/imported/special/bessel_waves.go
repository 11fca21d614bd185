package special

import "math"

// Bessel functions of large numbers are waves: an amplitude and a phase by Hankel's expansions (DLMF 10.17). The result depends on how
// the phase is rounded: TensorFlow rounds it in the precision of x.

// asWave reports whether the expansions are accurate: their terms decrease until the 2x-th.
func asWave[T Float](x T) bool { return x > 25 || x > 8 && single[T]() }

// hankel returns the sums P and Q of DLMF 10.17.3.
func hankel(order int, x float64) (p, q float64) {
	mu, term := float64(4*order*order), 1.0
	p = 1
	for k := 1.0; k < 60; k++ {
		next := term * (mu - (2*k-1)*(2*k-1)) / (8 * k) / x
		if math.Abs(next) > math.Abs(term) || math.Abs(next) < 1e-18 {
			break
		}
		term = next
		switch int(k) % 4 {
		case 0:
			p += term
		case 1:
			q += term
		case 2:
			p -= term
		default:
			q -= term
		}
	}
	return p, q
}

// wave returns the cosine and the sine of the phase of J and Y at x, times their amplitude.
func wave[T Float](order int, x T) (cos, sin float64) {
	lag := (float64(order)/2 + 0.25) * math.Pi
	p, q := hankel(order, float64(x))
	amplitude := math.Sqrt(2/math.Pi) / math.Sqrt(float64(x))
	if single[T]() {
		s, c := math.Sincos(float64(T(math.Atan2(q, p)-lag) + x))
		amplitude *= math.Hypot(p, q)
		return amplitude * c, amplitude * s
	}
	s, c := math.Sincos(float64(x - T(lag)))
	return amplitude * (p*c - q*s), amplitude * (p*s + q*c)
}

// BesselJ0 is the Bessel function of the first kind, order 0.
func BesselJ0[T Float](x T) T {
	if x = absOf(x); asWave(x) {
		cos, _ := wave(0, x)
		return T(cos)
	}
	return T(math.J0(float64(x)))
}

// BesselJ1 is the Bessel function of the first kind, order 1.
func BesselJ1[T Float](x T) T {
	y := absOf(x)
	v := T(math.J1(float64(y)))
	if asWave(y) {
		cos, _ := wave(1, y)
		v = T(cos)
	}
	if math.Signbit(float64(x)) {
		return -v
	}
	return v
}

// BesselY0 is the Bessel function of the second kind, order 0.
func BesselY0[T Float](x T) T {
	switch {
	case x <= 0:
		return T(math.Inf(-1))
	case asWave(x):
		_, sin := wave(0, x)
		return T(sin)
	}
	return T(math.Y0(float64(x)))
}

// BesselY1 is the Bessel function of the second kind, order 1. It is NaN at 0 in float32, as in TensorFlow.
func BesselY1[T Float](x T) T {
	switch {
	case x == 0 && single[T]():
		return T(math.NaN())
	case x <= 0:
		return T(math.Inf(-1))
	case asWave(x):
		_, sin := wave(1, x)
		return T(sin)
	}
	return T(math.Y1(float64(x)))
}
