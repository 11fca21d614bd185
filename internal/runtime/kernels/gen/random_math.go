package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// normals writes the kernel that turns every two words, one lane, into two normals in place. It computes in double precision
// and rounds to single where boxMuller32 of package kernels does.
func (m *machine) normals() {
	n, p := m.function("boxMuller32", "turns n pairs of words, a multiple of the lanes, into normals.", []string{"n"}, []string{"dst"})
	l := newLabels("turn", "done")
	Label(l[0])
	CMPQ(n[0], U32(m.lanes()))
	JLT(LabelRef(l[1]))
	w := m.vec()
	m.mov(Mem{Base: p[0]}, w)
	m.mov(m.boxMuller(w), Mem{Base: p[0]})
	ADDQ(U32(m.width), p[0])
	SUBQ(U32(m.lanes()), n[0])
	JMP(LabelRef(l[0]))
	Label(l[1])
	end()
}

func (m *machine) boxMuller(w reg.VecVirtual) reg.VecVirtual {
	ps := &machine{single, m.isa, m.width}
	u := m.unit23(w)
	m.max(m.constant(float64(float32(1e-7))), u, u)
	radius := m.narrowed(m.logOfUnit(u))
	ps.mul(ps.constant(-2), radius, radius)
	ps.sqrt(radius, radius)
	VPSRLQ(Imm(32), w, w)
	angle := m.unit23(w)
	m.mul(m.constant(2*math.Pi), angle, angle)
	VCVTPS2PD(m.narrowed(angle), angle)
	sine, cosine := m.sineAndCosine(angle)
	for _, v := range []reg.VecVirtual{sine, cosine} {
		half := m.narrowed(v)
		ps.mul(radius, half, half)
		VPMOVZXDQ(half, v)
	}
	VPSLLQ(Imm(32), cosine, cosine)
	m.or(sine, cosine, cosine)
	return cosine
}

// unit23 returns doubles in [0, 1) from the low 23 bits of each lane.
func (m *machine) unit23(w reg.VecVirtual) reg.VecVirtual {
	v := m.vec()
	VPSLLQ(Imm(29), w, v)
	m.and(m.pattern(0x000fffffe0000000), v, v)
	m.or(m.constant(1), v, v)
	m.sub(m.constant(1), v, v)
	return v
}

// narrowed rounds doubles to single precision, in a register of half width.
func (m *machine) narrowed(v reg.VecVirtual) reg.VecVirtual {
	if m.wide() {
		half := YMM()
		VCVTPD2PS(v, half)
		return half
	}
	half := XMM()
	VCVTPD2PSY(v, half)
	return half
}

// logOfUnit returns the logarithm of normal positive doubles, with the reduction and coefficients of FreeBSD's e_log.c.
func (m *machine) logOfUnit(x reg.VecVirtual) reg.VecVirtual {
	low := math.Float64bits(math.Sqrt2 / 2)
	shifted, e, f := m.vec(), m.vec(), m.vec()
	m.mov(m.pattern(math.Float64bits(1)-low), shifted)
	VPADDQ(x, shifted, shifted)
	VPSRLQ(Imm(52), shifted, e)
	m.or(m.constant(1<<52), e, e) // the number 2^52 + e
	m.sub(m.constant(1<<52+1023), e, e)
	m.and(m.pattern(1<<52-1), shifted, f)
	VPADDQ(m.pattern(low), f, f)
	m.sub(m.constant(1), f, f)
	s, square := m.value(2), m.vec()
	m.add(f, s, s)
	m.div(s, f, s)
	m.mul(s, s, square)
	r := m.horner(square, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
		2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01)
	m.mul(square, r, r)
	half := m.vec()
	m.mul(f, f, half)
	m.mul(m.constant(0.5), half, half)
	m.add(half, r, r)
	m.mul(s, r, r)
	m.fma231(m.constant(1.90821492927058770002e-10), e, r)
	m.sub(r, half, half)
	m.sub(half, f, f)
	m.fma231(m.constant(6.93147180369123816490e-01), e, f)
	return f
}

// sineAndCosine takes doubles in [0, 2*pi]. The polynomials are from Moshier's Cephes library.
func (m *machine) sineAndCosine(x reg.VecVirtual) (sine, cosine reg.VecVirtual) {
	turns, n := m.vec(), m.vec()
	m.mul(m.constant(2/math.Pi), x, turns)
	m.add(m.constant(3<<51), turns, turns) // the last bits are the nearest integer
	m.sub(m.constant(3<<51), turns, n)
	left, square, fourth := m.copied(x), m.vec(), m.vec()
	m.fnma231(m.constant(math.Pi/2), n, left)
	m.fnma231(m.constant(6.123233995736766e-17), n, left) // pi/2 minus its float64
	m.mul(left, left, square)
	s := m.horner(square, 1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
		-1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1)
	m.mul(square, s, s)
	m.fma213(left, left, s)
	p := m.horner(square, -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
		2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2)
	c := m.value(1)
	m.fnma231(m.constant(0.5), square, c)
	m.mul(square, square, fourth)
	m.fma231(fourth, p, c)
	odd, sign := m.vec(), m.vec()
	VPSLLQ(Imm(63), turns, odd)
	m.or(m.constant(1), odd, odd) // -1 where n is odd
	swap := m.compare(less, odd, m.constant(0))
	sine, cosine = swap.pick(c, s), swap.pick(s, c)
	VPSLLQ(Imm(62), turns, sign)
	m.and(m.sign(), sign, sign)
	m.xor(sign, sine, sine)
	VPADDQ(m.pattern(1), turns, turns)
	VPSLLQ(Imm(62), turns, sign)
	m.and(m.sign(), sign, sign)
	m.xor(sign, cosine, cosine)
	return sine, cosine
}
