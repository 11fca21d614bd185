package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const unroll = 4

// vectors writes the elementwise kernels, reductions, row and column kernels and optimizer updates.
func vectors(e *elem) {
	for _, m := range machines(e) {
		m.binaries()
		m.unaries()
		m.withScalar()
		m.reductions()
		m.dotRows()
		m.columns()
		m.rows()
		m.normGrad()
		m.optimizers()
		m.strided()
		m.copyRows()
		if m.bytes == 4 {
			m.transcendental()
			m.winograd()
		}
	}
}

// simple makes a body of one instruction: dst = op(v[0], v[1]).
func (m *machine) simple(op func(...Op)) func(v []reg.VecVirtual) reg.VecVirtual {
	return func(v []reg.VecVirtual) reg.VecVirtual {
		op(v[1], v[0], v[0])
		return v[0]
	}
}

func (m *machine) binaries() {
	m.elementwise("add", 2, unroll, m.simple(m.add))
	m.elementwise("sub", 2, unroll, m.simple(m.sub))
	m.elementwise("mul", 2, unroll, m.simple(m.mul))
	m.elementwise("div", 2, unroll, m.simple(m.div))
	m.elementwise("max", 2, unroll, m.nanSafe(m.max))
	m.elementwise("min", 2, unroll, m.nanSafe(m.min))
	m.elementwise("squaredDifference", 2, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		m.sub(v[1], v[0], v[0])
		m.mul(v[0], v[0], v[0])
		return v[0]
	})
	m.elementwise("reluGrad", 2, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		// A product, so that a non-finite gradient times 0 is NaN.
		kept := m.compare(greater, v[1], m.constant(0)).keep(m.value(1))
		m.mul(v[0], kept, kept)
		return kept
	})
	m.elementwise("relu6Grad", 2, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		kept := m.compare(greater, v[1], m.constant(0)).keep(m.value(1))
		kept = m.compare(less, v[1], m.constant(6)).keep(kept)
		m.mul(v[0], kept, kept)
		return kept
	})
	m.elementwise("sigmoidGrad", 2, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		rest := m.value(1)
		m.sub(v[1], rest, rest)
		m.mul(v[1], v[0], v[0])
		m.mul(rest, v[0], v[0])
		return v[0]
	})
	m.elementwise("tanhGrad", 2, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		rest := m.value(1)
		m.fnma231(v[1], v[1], rest)
		m.mul(rest, v[0], v[0])
		return v[0]
	})
}

// nanSafe makes VMAX or VMIN give NaN also if the first operand is NaN; the instruction already does for the second.
func (m *machine) nanSafe(op func(...Op)) func(v []reg.VecVirtual) reg.VecVirtual {
	return func(v []reg.VecVirtual) reg.VecVirtual {
		op(v[1], v[0], v[1])
		return m.compare(unordered, v[0], v[0]).pick(v[0], v[1])
	}
}

func (m *machine) sign() Mem      { return m.pattern(1 << (8*m.bytes - 1)) }
func (m *machine) magnitude() Mem { return m.pattern(1<<(8*m.bytes-1) - 1) }

func (m *machine) unaries() {
	type body = func(v []reg.VecVirtual) reg.VecVirtual
	in := func(f func(x reg.VecVirtual)) body {
		return func(v []reg.VecVirtual) reg.VecVirtual { f(v[0]); return v[0] }
	}
	m.elementwise("neg", 1, unroll, in(func(x reg.VecVirtual) { m.xor(m.sign(), x, x) }))
	m.elementwise("abs", 1, unroll, in(func(x reg.VecVirtual) { m.and(m.magnitude(), x, x) }))
	m.elementwise("square", 1, unroll, in(func(x reg.VecVirtual) { m.mul(x, x, x) }))
	m.elementwise("sqrt", 1, unroll, in(func(x reg.VecVirtual) { m.sqrt(x, x) }))
	m.elementwise("round", 1, unroll, in(m.round))
	m.elementwise("rsqrt", 1, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		one := m.value(1)
		m.sqrt(v[0], v[0])
		m.div(v[0], one, one)
		return one
	})
	m.elementwise("reciprocal", 1, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		one := m.value(1)
		m.div(v[0], one, one)
		return one
	})
	m.elementwise("relu", 1, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		zero := m.vec()
		m.zero(zero)
		m.max(v[0], zero, zero) // returns the second source if it is NaN
		return zero
	})
	m.elementwise("relu6", 1, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		zero, six := m.vec(), m.value(6)
		m.zero(zero)
		m.max(v[0], zero, zero)
		m.min(zero, six, six)
		return six
	})
}

// withScalar writes dst = op(a, k) and y += k*x.
func (m *machine) withScalar() {
	simple := func(op func(...Op)) func(v, k reg.VecVirtual) reg.VecVirtual {
		return func(v, k reg.VecVirtual) reg.VecVirtual { op(k, v, v); return v }
	}
	// VMAX and VMIN give the scalar if v is NaN.
	extreme := func(op func(...Op)) func(v, k reg.VecVirtual) reg.VecVirtual {
		return func(v, k reg.VecVirtual) reg.VecVirtual {
			better := m.vec()
			op(k, v, better)
			return m.compare(unordered, v, v).pick(v, better)
		}
	}
	for _, s := range []struct {
		name string
		op   func(v, k reg.VecVirtual) reg.VecVirtual
	}{{"addScalar", simple(m.add)}, {"subScalar", simple(m.sub)}, {"mulScalar", simple(m.mul)}, {"divScalar", simple(m.div)},
		{"maxScalar", extreme(m.max)}, {"minScalar", extreme(m.min)}} {
		n, p := m.function(s.name, "is an elementwise kernel with a scalar.", []string{"n"}, []string{"dst", "a"}, "k")
		scalar := m.scalar("k")
		m.each(n[0], p, unroll, func(disp int, k *mask) {
			v := m.vec()
			m.load(Mem{Base: p[1], Disp: disp}, v, k)
			m.store(s.op(v, scalar), Mem{Base: p[0], Disp: disp}, k)
		})
		end()
	}
	n, p := m.function("axpy", "adds k*x to y.", []string{"n"}, []string{"y", "x"}, "k")
	scalar := m.scalar("k")
	m.each(n[0], p, unroll, func(disp int, k *mask) {
		x, y := m.vec(), m.vec()
		m.load(Mem{Base: p[0], Disp: disp}, y, k)
		m.load(Mem{Base: p[1], Disp: disp}, x, k)
		m.fma231(x, scalar, y)
		m.store(y, Mem{Base: p[0], Disp: disp}, k)
	})
	end()
}
