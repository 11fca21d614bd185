package special

import "math"

// Dawson is exp(-x²)·∫₀ˣ exp(t²) dt: by Rybicki's sum over a grid of odd steps, which is exponentially exact (Computers in Physics 3,
// 1989), and by the series near 0.
func Dawson[T Float](x T) T { return T(dawson(float64(x))) }

func dawson(x float64) float64 {
	switch a := math.Abs(x); {
	case x != x:
		return x
	case x == 0:
		return 0
	case a < 0.2:
		y := x * x
		sum, term := 1.0, 1.0
		for k := 1; k < 12; k++ {
			term *= -2 * y / float64(2*k+1)
			sum += term
		}
		return x * sum
	case a >= 1e9: // without the sign, as in TensorFlow
		return 0.5 / a
	case a > 1e8:
		return 0.5 / x
	}
	const step = 0.2
	near := 2 * math.Round(x/step/2)
	rest := x - near*step
	sum := 0.0
	for k := -41; k <= 41; k += 2 { // the grid points are odd, near is even
		d := rest - float64(k)*step
		sum += math.Exp(-d*d) / (near + float64(k))
	}
	return sum / math.Sqrt(math.Pi)
}

// ExpIntegral is Ei(x) = -∫ exp(-t)/t dt from -x on, for x above 0: a series (DLMF 6.6.2), and for large x the asymptotic one (6.12.2).
// As in TensorFlow it is NaN below 0 and at infinity. It is infinite where T's exponential function is.
func ExpIntegral[T Float](x T) T {
	if tooLarge(x) {
		return T(math.NaN())
	}
	return T(expIntegral[T](float64(x)))
}

// tooLarge reports whether 1/x is subnormal: TensorFlow takes it for 0, and the result is NaN.
func tooLarge[T Float](x T) bool { return x > 0 && 1/x < SmallestNormal[T]() }

func expIntegral[T Float](x float64) float64 {
	switch {
	case x < 0 || x != x || math.IsInf(x, 1):
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case x < 40:
		sum, term := 0.0, 1.0
		for k := 1.0; k < 200; k++ {
			term *= x / k
			sum += term / k
		}
		return eulerGamma + math.Log(x) + sum
	}
	sum, term := 1.0, 1.0
	for k := 1.0; k < x && math.Abs(term) > 1e-17; k++ {
		term *= k / x
		sum += term
	}
	return float64(expOf(T(x))) / x * sum
}

const eulerGamma = 0.57721566490153286060651209008240243

// FresnelCos is the integral of cos(πt²/2) from 0 to x.
func FresnelCos[T Float](x T) T { _, c := fresnel(x); return c }

// FresnelSin is the integral of sin(πt²/2) from 0 to x.
func FresnelSin[T Float](x T) T { s, _ := fresnel(x); return s }

// fresnel computes the integrals of sin(πt²/2) and cos(πt²/2) from 0 to x: by power series (DLMF 7.6.4 and 7.6.6), and for large x by the
// asymptotic series of the auxiliary functions (7.12.2 and 7.12.3). The phase is rounded in the precision of x.
func fresnel[T Float](x T) (s, c T) {
	const limit = 36974 // where TensorFlow neglects the waves
	a := float64(absOf(x))
	var s64, c64 float64
	switch {
	case x != x:
		return x, x
	case a > limit:
		s64, c64 = 0.5, 0.5
	case a < 3.2:
		s64, c64 = fresnelSeries(a)
	default:
		f, g := fresnelTail(a)
		sin, cos := math.Sincos(float64(T(math.Pi/2) * T(x*x)))
		s64, c64 = 0.5-f*cos-g*sin, 0.5+f*sin-g*cos
	}
	if x < 0 {
		return T(-s64), T(-c64)
	}
	return T(s64), T(c64)
}

func fresnelSeries(x float64) (s, c float64) {
	y := math.Pi / 2 * x * x
	term := x
	for k := 0; k < 120 && term != 0; k++ {
		v := term / float64(2*k+1)
		switch k % 4 {
		case 0:
			c += v
		case 1:
			s += v
		case 2:
			c -= v
		default:
			s -= v
		}
		term *= y / float64(k+1)
	}
	return s, c
}

// fresnelTail computes the auxiliary functions f and g.
func fresnelTail(x float64) (f, g float64) {
	y := math.Pi * x * x
	f, g = 1, 1
	ft, gt := 1.0, 1.0
	for k := 1.0; k < 30; k++ {
		nf, ng := ft*-(4*k-3)*(4*k-1)/(y*y), gt*-(4*k-1)*(4*k+1)/(y*y)
		if math.Abs(nf) > math.Abs(ft) || math.Abs(ng) > math.Abs(gt) || math.Abs(nf) < 1e-18 {
			break
		}
		ft, gt = nf, ng
		f, g = f+ft, g+gt
	}
	return f / (math.Pi * x), g / (math.Pi * x * y)
}

// Spence is -∫ ln(t)/(t-1) dt from 1 to x, the dilogarithm of 1-x.
func Spence[T Float](x T) T {
	if tooLarge(x) {
		return T(math.NaN())
	}
	return T(spence(float64(x)))
}

func spence(x float64) float64 {
	const sixth = math.Pi * math.Pi / 6
	switch {
	case x < 0 || x != x || math.IsInf(x, 1): // at infinity too, as in TensorFlow
		return math.NaN()
	case x == 0:
		return sixth
	case x == 1:
		return 0
	case x > 2: // by 1/x
		l := math.Log(x)
		return -l*l/2 - spence(1/x)
	case x < 0.5: // by 1-x
		return sixth - math.Log(x)*math.Log1p(-x) - spence(1-x)
	}
	// The series of Bernoulli's numbers in u = ln(x), DLMF 25.12: -u·Σ B(k)/(k+1)!·(±u)^k.
	u := math.Log(x)
	square := u * u
	sum, power := 0.0, u
	for k, b := range bernoulliOver { // B(2k+2)/(2k+2)!
		power *= square
		sum += b * power / float64(2*k+3)
	}
	return -(u + square/4 + sum)
}
