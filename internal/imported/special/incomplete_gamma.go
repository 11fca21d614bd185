package special

import "math"

// gammaPart selects a function of the incomplete gamma family.
type gammaPart int

const (
	gammaValue  gammaPart = iota
	gammaSlope            // the derivative with respect to the parameter a
	gammaSample           // the derivative of a sample of the gamma distribution with respect to its parameter
)

// terms bounds the terms of a series or continued fraction, as TensorFlow does: for parameters in the millions neither has converged by then.
func (p gammaPart) terms(single bool) int {
	switch {
	case p == gammaValue:
		return 2000
	case single:
		return 200
	}
	return 500
}

// LowerGamma is the lower regularized incomplete gamma function P(a, x).
func LowerGamma[T Float](a, x T) T { return lowerGamma(gammaValue, a, x) }

// LowerGammaSlope is the derivative of LowerGamma with respect to a.
func LowerGammaSlope[T Float](a, x T) T { return lowerGamma(gammaSlope, a, x) }

// GammaSampleSlope is the derivative of a sample x of the gamma distribution with respect to its parameter a.
func GammaSampleSlope[T Float](a, x T) T { return lowerGamma(gammaSample, a, x) }

// lowerGamma is the lower regularized incomplete gamma function, or a derivative of it.
func lowerGamma[T Float](p gammaPart, a, x T) T {
	switch {
	case x == 0:
		return 0
	case !(x > 0) || !(a > 0):
		return T(math.NaN())
	case x > 1 && x > a && p == gammaValue:
		return 1 - gammaFraction(p, a, x)
	case x > 1 && x > a:
		return -gammaFraction(p, a, x)
	}
	return gammaSeries(p, a, x)
}

// UpperGamma is the upper regularized incomplete gamma function Q(a, x).
func UpperGamma[T Float](a, x T) T {
	switch {
	case !(x >= 0) || !(a > 0):
		return T(math.NaN())
	case x < 1 || x < a:
		return 1 - gammaSeries(gammaValue, a, x)
	}
	return gammaFraction(gammaValue, a, x)
}

// gammaScale is x^a·exp(-x)/Γ(a), or 0 if that is subnormal or NaN.
func gammaScale[T Float](a, x T) T {
	exponent := T(a*logOf(x)) - x - Lgamma(a)
	lowest := -math.Log(math.MaxFloat64)
	if single[T]() {
		lowest = -math.Log(math.MaxFloat32)
	}
	if !(exponent >= T(lowest)) {
		return 0
	}
	return normal(expOf(exponent))
}

// gammaSeries is the power series, DLMF 8.11.4, with its derivative with respect to a.
func gammaSeries[T Float](p gammaPart, a, x T) T {
	scale := gammaScale(a, x)
	if scale == 0 {
		return 0
	}
	scale /= a
	k, term, sum := a, T(1), T(1)
	var slope, slopes T // of the term and of the sum
	for range p.terms(single[T]()) {
		k++
		ratio := x / k
		slope = T(ratio*slope) - T(x/T(k*k))*term
		slopes += slope
		term *= ratio
		sum += term
		if p == gammaValue && term <= unit[T]()*sum || p != gammaValue && absOf(slope) <= unit[T]()*absOf(slopes) {
			break
		}
	}
	if p == gammaValue {
		return sum * scale
	}
	growth := logOf(x) - Digamma(a+1)
	if p == gammaSlope {
		return T(sum*T(scale*growth)) + T(slopes*scale)
	}
	return -(slopes + T(sum*growth)) * x / a
}

// convergent is a numerator or a denominator of a continued fraction, with its derivative.
type convergent[T Float] struct{ value, slope T }

// next computes a convergent from the last two by the recurrence w = v·z - u·y·n, where z and y grow as a falls.
func (v convergent[T]) next(u convergent[T], z, y, n T) convergent[T] {
	yn := y * n
	return convergent[T]{T(v.value*z) - T(u.value*yn), T(v.slope*z) - v.value - T(u.slope*yn) + T(u.value*n)}
}

func (v convergent[T]) times(f T) convergent[T] { return convergent[T]{v.value * f, v.slope * f} }

// gammaFraction is the continued fraction, DLMF 8.9.2, by the recurrence of its convergents, with its derivative with respect to a.
func gammaFraction[T Float](p gammaPart, a, x T) T {
	if math.IsInf(float64(x), 1) {
		return 0
	}
	scale := gammaScale(a, x)
	if scale == 0 {
		return 0
	}
	largest := 1 / unit[T]()
	if !single[T]() {
		largest /= 2
	}
	y := 1 - a
	z := x + y + 1
	var n T
	p0, p1 := convergent[T]{1, 0}, convergent[T]{x + 1, 0}
	q0, q1 := convergent[T]{x, 0}, convergent[T]{z * x, -x}
	value := p1.value / q1.value
	slope := (p1.slope - T(value*q1.slope)) / q1.value
	for range p.terms(single[T]()) {
		n, y, z = n+1, y+1, z+2
		pn, qn := p1.next(p0, z, y, n), q1.next(q0, z, y, n)
		if qn.value != 0 {
			value0, slope0 := value, slope
			value = pn.value / qn.value
			slope = (pn.slope - T(value*qn.slope)) / qn.value
			if p == gammaValue && absOf(value0-value) <= unit[T]()*absOf(value) || p != gammaValue && absOf(slope-slope0) <= unit[T]() {
				break
			}
		}
		p0, p1, q0, q1 = p1, pn, q1, qn
		if absOf(pn.value) > largest {
			p0, p1, q0, q1 = p0.times(1/largest), p1.times(1/largest), q0.times(1/largest), q1.times(1/largest)
		}
	}
	growth := logOf(x) - Digamma(a)
	switch p {
	case gammaValue:
		return value * scale
	case gammaSlope:
		return T(value*T(scale*growth)) + T(slope*scale)
	}
	return -(slope + T(value*growth)) * x
}
