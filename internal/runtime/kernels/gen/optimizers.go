package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// update emits a fused optimizer update: pointers are w, its slots and the gradient, and k points to the constants. The body
// gets their vectors and the constants, and stores results with put.
func (m *machine) update(name, doc string, slots []string, constants, unroll int,
	body func(v, s []reg.VecVirtual, put func(i int, v reg.VecVirtual))) {
	pointers := append(append([]string{"w"}, slots...), "grad", "k")
	n, p := m.function(name, doc, []string{"n"}, pointers)
	last := len(p) - 1
	s := m.scalars(p[last], constants)
	m.each(n[0], p[:last], unroll, func(disp int, k *mask) {
		v := make([]reg.VecVirtual, last)
		for i := range v {
			v[i] = m.vec()
			m.load(Mem{Base: p[i], Disp: disp}, v[i], k)
		}
		body(v, s, func(i int, x reg.VecVirtual) { m.store(x, Mem{Base: p[i], Disp: disp}, k) })
	})
	end()
}

func (m *machine) optimizers() {
	m.momenta()
	m.update("adagrad", "is a fused Adagrad update; k holds lr, epsilon.", []string{"a"}, 2, 2,
		func(v, s []reg.VecVirtual, put func(int, reg.VecVirtual)) {
			w, a, g := v[0], v[1], v[2]
			m.fma231(g, g, a)
			put(1, a)
			m.sqrt(a, a)
			m.add(s[1], a, a)
			m.mul(s[0], g, g)
			m.div(a, g, g)
			m.sub(g, w, w)
			put(0, w)
		})
	m.rmsprop(false)
	m.rmsprop(true)
	m.ftrl()
	m.update("adam", "is a fused Adam update; k as in AdamParams' span.", []string{"m", "v"}, 6, 1,
		func(v, s []reg.VecVirtual, put func(int, reg.VecVirtual)) {
			t := m.vec()
			m.sub(v[1], v[3], t)
			m.fma231(s[2], t, v[1])
			put(1, v[1])
			m.mul(v[3], v[3], v[3])
			m.sub(v[2], v[3], v[3])
			m.fma231(s[3], v[3], v[2])
			put(2, v[2])
			m.sqrt(v[2], v[2])
			m.add(s[4], v[2], v[2])
			m.mul(s[0], v[1], v[1])
			m.div(v[2], v[1], v[1])
			m.mul(s[5], v[0], v[0])
			m.sub(v[1], v[0], v[0])
			put(0, v[0])
		})
}

func (m *machine) momenta() {
	for _, nesterov := range []bool{false, true} {
		name, keras := "momentum", "kerasMomentum"
		if nesterov {
			name, keras = "nesterov", "kerasNesterov"
		}
		m.update(name, "is a fused momentum update; k holds lr, momentum.", []string{"m"}, 2, 2,
			func(v, s []reg.VecVirtual, put func(int, reg.VecVirtual)) {
				w, slot, g := v[0], v[1], v[2]
				m.fma213(g, s[1], slot)
				put(1, slot)
				if nesterov {
					m.fma231(s[1], slot, g)
					slot = g
				}
				m.fnma231(s[0], slot, w)
				put(0, w)
			})
		m.update(keras, "is a fused momentum update as Keras does it; k holds lr, momentum.", []string{"m"}, 2, 2,
			func(v, s []reg.VecVirtual, put func(int, reg.VecVirtual)) {
				w, slot, g := v[0], v[1], v[2]
				m.mul(s[0], g, g)
				m.mul(s[1], slot, slot)
				m.sub(g, slot, slot)
				put(1, slot)
				if nesterov {
					m.mul(s[1], slot, slot)
					m.sub(g, slot, slot)
				}
				m.add(slot, w, w)
				put(0, w)
			})
	}
}

// rmsprop writes RMSProp with momentum and epsilon under the root, plain or centered.
func (m *machine) rmsprop(centered bool) {
	name, slots := "rmsprop", []string{"ms", "mom"}
	if centered {
		name, slots = "rmspropCentered", append(slots, "mg")
	}
	m.update(name, "is a fused RMSProp update; k holds lr, 1-rho, momentum, epsilon.", slots, 4, 1,
		func(v, s []reg.VecVirtual, put func(int, reg.VecVirtual)) {
			w, ms, mom, g := v[0], v[1], v[2], v[len(v)-1]
			t := m.vec()
			m.mul(g, g, t)
			m.sub(ms, t, t)
			m.fma231(s[1], t, ms)
			put(1, ms)
			if centered {
				mean := v[3]
				m.sub(mean, g, t)
				m.fma231(s[1], t, mean)
				put(3, mean)
				m.fnma231(mean, mean, ms)
			}
			m.add(s[3], ms, ms)
			m.sqrt(ms, ms)
			m.mul(s[0], g, g)
			m.div(ms, g, g)
			m.fma213(g, s[2], mom)
			put(2, mom)
			m.sub(mom, w, w)
			put(0, w)
		})
}

// ftrl writes FTRL-proximal with a rate that decays by the square root.
func (m *machine) ftrl() {
	m.update("ftrl", "is a fused FTRL update of power -0.5; k holds lr, l1, l2, l2 shrinkage.", []string{"accum", "linear"}, 4, 1,
		func(v, s []reg.VecVirtual, put func(int, reg.VecVirtual)) {
			w, accum, linear, g := v[0], v[1], v[2], v[3]
			old := m.vec()
			m.sqrt(accum, old)
			m.fma231(g, g, accum)
			put(1, accum)
			m.sqrt(accum, accum)
			m.sub(old, accum, old)
			m.div(s[0], old, old)
			m.add(g, linear, linear)
			m.mul(s[3], w, g)
			m.add(g, g, g)
			m.add(g, linear, linear)
			m.fnma231(old, w, linear)
			put(2, linear)
			m.div(s[0], accum, accum)
			m.add(s[2], accum, accum)
			m.add(s[2], accum, accum)
			m.and(m.sign(), linear, g)
			m.or(s[1], g, g)
			m.sub(linear, g, g)
			m.div(accum, g, g)
			size := m.vec()
			m.and(m.magnitude(), linear, size)
			put(0, m.compare(greater, size, s[1]).keep(g))
		})
}
