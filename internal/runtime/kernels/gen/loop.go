package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// labels counts loops, so that each has names of its own.
var labels int

func newLabels(names ...string) []string {
	labels++
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%s%d", n, labels)
	}
	return out
}

// each emits a loop over n elements at ptrs: it emits body for unroll vectors, for one vector, and for a masked rest. disp is
// the offset of body's vector from ptrs.
func (m *machine) each(n reg.GPVirtual, ptrs []reg.GPVirtual, unroll int, body func(disp int, k *mask)) {
	l := newLabels("many", "one", "rest", "done")
	advance := func(vectors int) {
		for _, p := range ptrs {
			ADDQ(U32(vectors*m.width), p)
		}
		SUBQ(U32(vectors*m.lanes()), n)
	}
	if unroll > 1 {
		Label(l[0])
		CMPQ(n, U32(unroll*m.lanes()))
		JLT(LabelRef(l[1]))
		for u := range unroll {
			body(u*m.width, nil)
		}
		advance(unroll)
		JMP(LabelRef(l[0]))
	}
	Label(l[1])
	CMPQ(n, U32(m.lanes()))
	JLT(LabelRef(l[2]))
	body(0, nil)
	advance(1)
	JMP(LabelRef(l[1]))
	Label(l[2])
	TESTQ(n, n)
	JZ(LabelRef(l[3]))
	k := m.lanesMask(n)
	body(0, &k)
	Label(l[3])
}

// function starts an assembly function of ints, pointers and numbers, which are passed as bits. It returns the registers of
// the ints and pointers in order. A number named "return" is the result.
func (m *machine) function(name, doc string, ints, pointers []string, numbers ...string) (n, p []reg.GPVirtual) {
	signature := "func(" + strings.Join(ints, ", ") + " int, " + strings.Join(pointers, ", ") + " *byte"
	result := ""
	for _, x := range numbers {
		if x == "return" {
			result = " uint64"
			continue
		}
		signature += ", " + x + " uint64"
	}
	m.text(name, signature+")"+result, doc)
	for _, i := range ints {
		n = append(n, Load(Param(i), GP64()).(reg.GPVirtual))
	}
	for _, i := range pointers {
		p = append(p, Load(Param(i), GP64()).(reg.GPVirtual))
	}
	return n, p
}

func end() {
	VZEROUPPER()
	RET()
}

// elementwise emits dst = f(sources), one vector at a time.
func (m *machine) elementwise(name string, sources, unroll int, f func(v []reg.VecVirtual) reg.VecVirtual) {
	pointers := []string{"dst", "a", "b", "c"}[:sources+1]
	n, p := m.function(name, "is an elementwise kernel.", []string{"n"}, pointers)
	m.each(n[0], p, unroll, func(disp int, k *mask) {
		v := make([]reg.VecVirtual, sources)
		for i := range v {
			v[i] = m.vec()
			m.load(Mem{Base: p[i+1], Disp: disp}, v[i], k)
		}
		m.store(f(v), Mem{Base: p[0], Disp: disp}, k)
	})
	end()
}

// scalar broadcasts a number that was passed as bits.
func (m *machine) scalar(name string) reg.VecVirtual {
	bits, x, v := GP64(), XMM(), m.vec()
	Load(Param(name), bits)
	VMOVQ(bits, x)
	m.broadcast(x, v)
	return v
}

// value loads a repeated constant into a register.
func (m *machine) value(v float64) reg.VecVirtual {
	r := m.vec()
	m.mov(m.constant(v), r)
	return r
}

// scalars broadcasts n consecutive numbers at p.
func (m *machine) scalars(p reg.GPVirtual, n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = m.vec()
		m.broadcast(Mem{Base: p, Disp: i * m.bytes}, v[i])
	}
	return v
}

// Predicates of VCMPPS: ordered and quiet unless the name says unordered.
const (
	equal            = 0
	unordered        = 3
	equalOrUnordered = 8
	less             = 17
	greater          = 30
)

// where is the result of a comparison.
type where struct {
	m *machine
	r reg.Register
}

// compare compares a with b (a register or memory) lane by lane.
func (m *machine) compare(predicate int, a reg.VecVirtual, b Op) where {
	var r reg.Register = YMM()
	if m.wide() {
		r = K()
	}
	m.cmp(Imm(uint64(predicate)), b, a, r)
	return where{m, r}
}

// keep returns x in lanes that are true, else 0.
func (w where) keep(x reg.VecVirtual) reg.VecVirtual {
	out := w.m.vec()
	switch {
	case !w.m.wide():
		w.m.and(x, w.r, out)
	case w.m.bytes == 4:
		VMOVUPS_Z(x, w.r, out)
	default:
		VMOVUPD_Z(x, w.r, out)
	}
	return out
}

// pick returns x in lanes that are true, else y.
func (w where) pick(x, y reg.VecVirtual) reg.VecVirtual {
	out := w.m.vec()
	switch {
	case !w.m.wide():
		w.m.blend(w.r, x, y, out)
	case w.m.bytes == 4:
		VBLENDMPS(x, y, w.r, out)
	default:
		VBLENDMPD(x, y, w.r, out)
	}
	return out
}

// pause writes a hint that the caller spins.
func pause() {
	TEXT("pauseCPU", NOSPLIT, "func()")
	Doc("pauseCPU waits some tens of cycles.")
	for range 4 {
		PAUSE()
	}
	RET()
}
