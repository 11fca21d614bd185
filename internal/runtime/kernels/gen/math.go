package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transcendental writes exp, sigmoid, tanh, log, log1p, softplus, erf, sin and cos for single precision. The polynomials are from
// Moshier's Cephes library (expf, tanhf, logf); for erf, sin and cos they are fits at Chebyshev's points. Errors stay below 2.5
// units in the last place.
func (m *machine) transcendental() {
	m.elementwise("exp", 1, 2, func(v []reg.VecVirtual) reg.VecVirtual { return m.exp(v[0]) })
	m.elementwise("sigmoid", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.sigmoid(v[0]) })
	m.elementwise("tanh", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.tanh(v[0]) })
	m.elementwise("log", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.log(v[0]) })
	m.elementwise("log1p", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.log1p(v[0]) })
	m.elementwise("softplus", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.softplus(v[0]) })
	m.elementwise("erf", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.erf(v[0]) })
	m.elementwise("sin", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.sine(v[0], 0) })
	m.elementwise("cos", 1, 1, func(v []reg.VecVirtual) reg.VecVirtual { return m.sine(v[0], 1) })
}

// horner evaluates a polynomial with the given coefficients, highest first, at x.
func (m *machine) horner(x reg.VecVirtual, coefficients ...float64) reg.VecVirtual {
	p := m.value(coefficients[0])
	for _, c := range coefficients[1:] {
		m.fma213(m.constant(c), x, p)
	}
	return p
}

// exp reduces x to n*log(2) + r with |r| <= log(2)/2 and scales exp(r) by 2^n. Outside of the range the result is 0 or
// infinite. NaN stays NaN because it is the second source of VMAX and VMIN.
func (m *machine) exp(x reg.VecVirtual) reg.VecVirtual {
	r, top := m.value(-104), m.value(89)
	m.max(x, r, r)
	m.min(r, top, r)
	n := m.vec()
	m.mul(m.constant(1.4426950408889634), r, n)
	m.round(n)
	m.fnma231(m.constant(0.693359375), n, r)
	m.fnma231(m.constant(-2.12194440e-4), n, r)
	p := m.horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := m.vec()
	m.mul(r, r, square)
	m.fma213(r, square, p)
	m.add(m.constant(1), p, p)
	m.scale(p, n)
	return p
}

// round rounds to the nearest integer, ties to even.
func (m *machine) round(v reg.VecVirtual) {
	switch {
	case m.wide() && m.bytes == 4:
		VRNDSCALEPS(Imm(8), v, v)
	case m.wide():
		VRNDSCALEPD(Imm(8), v, v)
	case m.bytes == 4:
		VROUNDPS(Imm(8), v, v)
	default:
		VROUNDPD(Imm(8), v, v)
	}
}

// scale multiplies p by 2^n. Without AVX-512 it needs two steps, so that subnormal results are right.
func (m *machine) scale(p, n reg.VecVirtual) {
	if m.wide() {
		VSCALEFPS(n, p, p)
		return
	}
	i, half := YMM(), YMM()
	VCVTPS2DQ(n, i)
	VPSRAD(Imm(1), i, half)
	VPSUBD(half, i, i)
	for _, e := range []reg.VecVirtual{half, i} {
		VPADDD(m.pattern(127), e, e)
		VPSLLD(Imm(23), e, e)
		VMULPS(e, p, p)
	}
}

// sigmoid is 1/(1+e) for x >= 0 and e/(1+e) below, e = exp(-|x|): small results keep their precision.
func (m *machine) sigmoid(x reg.VecVirtual) reg.VecVirtual {
	t := m.vec()
	m.or(m.sign(), x, t)
	e := m.exp(t)
	one, below := m.value(1), m.vec()
	m.add(one, e, below)
	top := m.compare(less, x, m.constant(0)).pick(e, one)
	m.div(below, top, top)
	return top
}

// tanh is x + x^3*P(x^2) for |x| < 0.625, else sign(x)*(1 - 2/(exp(2|x|)+1)).
func (m *machine) tanh(x reg.VecVirtual) reg.VecVirtual {
	size, twice := m.vec(), m.vec()
	m.and(m.magnitude(), x, size)
	m.add(size, size, twice)
	e := m.exp(twice)
	m.add(m.constant(1), e, e)
	two, far := m.value(2), m.value(1)
	m.div(e, two, two)
	m.sub(two, far, far)
	signs := m.vec()
	m.and(m.sign(), x, signs)
	m.or(signs, far, far)
	square := m.vec()
	m.mul(x, x, square)
	p := m.horner(square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	m.mul(square, p, p)
	m.fma213(x, x, p)
	return m.compare(less, size, m.constant(0.625)).pick(p, far)
}

// log splits x into z*2^e with z in [sqrt(1/2), sqrt(2)) and adds e*log(2), in two parts, to the series of log(z).
func (m *machine) log(x reg.VecVirtual) reg.VecVirtual {
	z, i := m.vec(), m.vec()
	m.mul(m.constant(1<<25), x, z)
	subnormal := m.compare(less, x, m.constant(0x1p-126))
	z, e := subnormal.pick(z, x), subnormal.pick(m.value(-126-25), m.value(-126))
	VPSRLD(Imm(23), z, i)
	VCVTDQ2PS(i, i)
	m.add(i, e, e)
	m.and(m.pattern(0x007fffff), z, z)
	m.or(m.pattern(0x3f000000), z, z)
	low := m.compare(less, z, m.constant(math.Sqrt2/2))
	twice, one := low.keep(z), low.keep(m.value(1))
	m.sub(one, e, e)
	m.sub(m.constant(1), z, z)
	m.add(twice, z, z)
	p := m.horner(z, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	square := m.vec()
	m.mul(z, z, square)
	m.mul(z, p, p)
	m.mul(square, p, p)
	m.fma231(m.constant(-2.12194440e-4), e, p)
	m.fnma231(m.constant(0.5), square, p)
	m.add(p, z, z)
	m.fma231(m.constant(0.693359375), e, z)
	z = m.compare(equal, x, m.constant(0)).pick(m.value(math.Inf(-1)), z)
	z = m.compare(less, x, m.constant(0)).pick(m.value(math.NaN()), z)
	z = m.compare(equal, x, m.constant(math.Inf(1))).pick(x, z)
	return m.compare(unordered, x, x).pick(x, z)
}

// log1p is log(u)*x/(u-1) with u = 1+x. The quotient corrects the rounding error of u (Kahan).
func (m *machine) log1p(x reg.VecVirtual) reg.VecVirtual {
	u, share := m.value(1), m.vec()
	m.add(x, u, u)
	l := m.log(u)
	m.sub(m.constant(1), u, share)
	m.div(share, x, share)
	m.mul(share, l, l)
	l = m.compare(equal, u, m.constant(1)).pick(x, l)
	return m.compare(equal, x, m.constant(math.Inf(1))).pick(x, l)
}

// softplus is max(x, 0) + log1p(exp(-|x|)).
func (m *machine) softplus(x reg.VecVirtual) reg.VecVirtual {
	t, top := m.vec(), m.vec()
	m.or(m.sign(), x, t)
	l := m.log1p(m.exp(t))
	m.zero(top)
	m.max(x, top, top) // returns the second source if it is NaN
	m.add(top, l, l)
	return l
}

// erf is x*P(x^2) for |x| < 1, else sign(x)*(1 - exp(Q(|x|))), where Q is the logarithm of erfc.
func (m *machine) erf(x reg.VecVirtual) reg.VecVirtual {
	size, signs, t := m.vec(), m.vec(), m.value(4)
	m.and(m.magnitude(), x, size)
	m.min(size, t, t) // returns the second source if it is NaN
	far := m.exp(m.horner(t, 3.877706507681035e-07, -2.7220888130022928e-05, 4.751997487319711e-04, -4.3206421381154075e-03,
		2.545215694785691e-02, -1.0874037963913546e-01, -6.329593890209795e-01, -1.1296967881406925, 2.1116555176714513e-04))
	one := m.value(1)
	m.sub(far, one, far)
	m.and(m.sign(), x, signs)
	m.or(signs, far, far)
	square := m.vec()
	m.mul(x, x, square)
	p := m.horner(square, 7.88249710832916e-05, -8.018854992306741e-04, 5.1893119426372055e-03, -2.6854328796043346e-02,
		1.1283597463487535e-01, -3.7612626903580443e-01, 1.1283791658815026)
	m.mul(x, p, p)
	return m.compare(less, size, m.constant(1)).pick(p, far)
}

// sine subtracts n quarter turns from x, in three parts (the first leaves an exact rest), and uses the series of sine or
// cosine: n plus turns decides which one, and the sign. It is valid for |x| up to 65536.
func (m *machine) sine(x reg.VecVirtual, turns int) reg.VecVirtual {
	n, quarter := m.vec(), m.vec()
	m.mul(m.constant(2/math.Pi), x, n)
	m.round(n)
	VCVTPS2DQ(n, quarter)
	const beyond = 6.123233995736766e-17 // pi/2 minus its float64
	first := float64(float32(math.Pi / 2))
	second := float64(float32(math.Pi/2 - first))
	left := m.copied(x)
	for _, part := range []float64{first, second, math.Pi/2 - first - second + beyond} {
		m.fnma231(m.constant(part), n, left)
	}
	square, cosine := m.vec(), m.value(1)
	m.mul(left, left, square)
	sine := m.horner(square, 2.7249963764519473e-06, -1.9840087086801393e-04, 8.33333187552398e-03, -1.6666666663858085e-01)
	m.mul(square, sine, sine)
	m.fma213(left, left, sine)
	p := m.horner(square, -2.7301197165619397e-07, 2.4800602923006964e-05, -1.3888887679780835e-03, 4.166666666438053e-02)
	m.fnma231(m.constant(0.5), square, cosine)
	m.mul(square, square, square)
	m.fma231(square, p, cosine)
	if turns == 1 {
		VPADDD(m.pattern(1), quarter, quarter)
	}
	odd := m.vec()
	VPSLLD(Imm(31), quarter, odd)
	m.or(m.constant(1), odd, odd) // -1 where n is odd
	y := m.compare(less, odd, m.constant(0)).pick(cosine, sine)
	VPSLLD(Imm(30), quarter, quarter)
	m.and(m.sign(), quarter, quarter)
	m.xor(quarter, y, y)
	return y
}
