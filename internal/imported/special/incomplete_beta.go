package special

import "math"

// IncompleteBeta is the regularized incomplete beta function I(a, b) at x.
func IncompleteBeta[T Float](a, b, x T) T {
	switch {
	case a <= 0 || b <= 0:
		return T(math.NaN())
	case x == 0:
		return 0
	case x == 1:
		return 1
	case x < 0 || x > 1:
		return T(math.NaN())
	case !single[T]():
		return T(beta64(float64(a), float64(b), float64(x)))
	case a <= 1: // from a+1, DLMF 8.17.20
		t := T(a*logOf(x)) + T(b*log1pOf(-x)) + Lgamma(a+b) - Lgamma(a+1) - Lgamma(b)
		return T(beta32(float32(a)+1, float32(b), float32(x))) + expOf(t)
	}
	return T(beta32(float32(a), float32(b), float32(x)))
}

func beta64(a, b, x float64) float64 {
	if b*x <= 1 && x <= 0.95 {
		return betaSeries64(a, b, x)
	}
	rest := 1 - x
	if x <= a/(a+b) || a != a || b != b || x != x {
		return betaByFraction64(a, b, x, rest)
	}
	var t float64
	if a*rest <= 1 && rest <= 0.95 {
		t = betaSeries64(b, a, rest)
	} else {
		t = betaByFraction64(b, a, rest, x)
	}
	if t <= unit[float64]() {
		return 1 - unit[float64]()
	}
	return 1 - t
}

// betaByFraction64 is IncompleteBeta by the continued fraction that converges faster; rest is 1-x.
func betaByFraction64(a, b, x, rest float64) float64 {
	w := betaFraction(a, b, x, true)
	if !(x*(a+b-2)-(a-1) < 0) {
		w = betaFraction(a, b, x, false) / rest
	}
	y := float64(a*math.Log(x)) + (float64(b*math.Log(rest)) + Lgamma(a+b) - Lgamma(a) - Lgamma(b))
	return math.Exp(y + math.Log(w/a))
}

// mostTerms bounds the terms of a series.
const mostTerms = 1e5

// betaSeries64 is the power series in x, DLMF 8.17.7.
func betaSeries64(a, b, x float64) float64 {
	term := (1 - b) * x
	first := term / (a + 1)
	sum := 0.0
	for n, v := 2.0, first; math.Abs(v) > unit[float64]()/a && n < mostTerms; n++ {
		term *= (n - b) * x / n
		v = term / (a + n)
		sum += v
	}
	sum += first + 1/a
	return math.Exp(Lgamma(a+b) - Lgamma(a) - Lgamma(b) + float64(a*math.Log(x)) + math.Log(sum))
}

// beta32 is IncompleteBeta for an a above 1.
func beta32(a, b, x float32) float32 {
	rest := 1 - x
	if x > a/(a+b) {
		return 1 - betaByFraction32(b, a, rest, x)
	}
	return betaByFraction32(a, b, x, rest)
}

// betaByFraction32 is IncompleteBeta by whatever converges fastest; rest is 1-x.
func betaByFraction32(a, b, x, rest float32) float32 {
	if b > 10 && absOf(b*x/a) < 0.3 {
		return betaSeries32(a, b, x)
	}
	var w, t float32
	if x*(a+b-2)/(a-1) < 1 {
		w, t = betaFraction(a, b, x, true), b*logOf(rest)
	} else {
		w, t = betaFraction(a, b, x, false), (b-1)*logOf(rest)
	}
	t += float32(a*logOf(x)) + Lgamma(a+b) - Lgamma(a) - Lgamma(b)
	return expOf(t + logOf(w/a))
}

// betaSeries32 is a series in x/(1-x) that ends where b is an integer.
func betaSeries32(a, b, x float32) float32 {
	y := float32(a*logOf(x)) + float32((b-1)*log1pOf(-x)) - logOf(a)
	y -= Lgamma(a) + Lgamma(b)
	y += Lgamma(a + b)
	ratio := x / (1 - x)
	term, sum := float32(1), float32(0)
	for n := 0; n < mostTerms; n++ {
		if b--; b == 0 {
			break
		}
		a++
		term *= ratio * b / a
		sum += term
		if !(absOf(term) > unit[float32]()) {
			break
		}
	}
	return expOf(y) * (1 + sum)
}

// betaFraction is one of two continued fractions, in x (DLMF 8.17.22) or in x/(1-x), by the recurrence of its convergents.
func betaFraction[T Float](a, b, x T, below bool) T {
	rounds, near, value := 300, 3*unit[T](), T(1)
	largest := T(1) / (2 * unit[T]())
	if single[T]() {
		rounds, near, largest = 100, unit[T](), 2*largest
	}
	even, odd, change := a+b, b-1, T(1)
	if !below {
		even, odd, change = b-1, a+b, -1
		x /= 1 - x
	}
	p0, q0, p1, q1 := T(0), T(1), T(1), T(1)
	k, n := a, T(1)
	a0, a1, a2 := a, a+1, a+2 // they grow by 2, unless they are too large to change
	for range rounds {
		for _, w := range [2]T{-(x * k * even) / (a0 * a1), (x * n * odd) / (a1 * a2)} {
			p0, p1 = p1, p1+T(p0*w)
			q0, q1 = q1, q1+T(q0*w)
		}
		if q1 != 0 {
			r := p1 / q1
			if absOf(value-r) < absOf(r)*near {
				return r
			}
			value = r
		}
		k, n, a0, a1, a2 = k+1, n+1, a0+2, a1+2, a2+2
		even, odd = even+change, odd-change
		if absOf(q1)+absOf(p1) > largest {
			p0, p1, q0, q1 = p0/largest, p1/largest, q0/largest, q1/largest
		}
		if absOf(q1) < 1/largest || absOf(p1) < 1/largest {
			p0, p1, q0, q1 = p0*largest, p1*largest, q0*largest, q1*largest
		}
	}
	return value
}
