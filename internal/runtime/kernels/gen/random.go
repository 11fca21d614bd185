package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernels.philoxRun.
const (
	offCounter = 0
	offHigh    = 8
	offStep    = 16
	offKeys    = 24
)

// random writes the kernels of Philox4x32-10: its words, uniform numbers of both types, and the transform of words to normal
// numbers of single precision. A 64-bit lane has one word of one counter, so that VPMULUDQ needs no shuffling; its upper half is
// unused.
func random() {
	lanes := *double
	lanes.name = ""
	for _, m := range machines(&lanes) {
		chains := 2
		if m.wide() {
			chains = 4
		}
		p := &philox{machine: m, single: &machine{single, m.isa, m.width}}
		p.emit("uniform32", chains, p.uniform32)
		p.emit("uniform64", chains, p.uniform64)
		p.emit("words32", chains, p.words32)
		m.normals()
	}
}

// philox is a kernel that makes groups of four words from counters that are step apart.
type philox struct {
	*machine
	single     *machine // the same vectors as numbers of single precision
	state, dst reg.GPVirtual
	counter    reg.VecVirtual // low halves of the next counters
	m0, m1     reg.VecVirtual
}

// words are the four words of each counter of a vector.
type words = [4]reg.VecVirtual

// emit writes a kernel that goes through the groups, first several vectors of counters at a time, then one. put stores the
// numbers made from a vector's words.
func (p *philox) emit(name string, chains int, put func(w words, to Mem)) {
	n, q := p.function(name, "fills n groups, a multiple of the lanes, from a philoxRun.", []string{"n"}, []string{"dst", "state"})
	p.dst, p.state = q[0], q[1]
	p.m0, p.m1 = p.vec(), p.vec()
	p.mov(p.pattern(0xD2511F53), p.m0)
	p.mov(p.pattern(0xCD9E8D57), p.m1)
	p.start()
	l := newLabels("many", "one", "done")
	for i, vectors := range []int{chains, 1} {
		Label(l[i])
		CMPQ(n[0], U32(vectors*p.lanes()))
		JLT(LabelRef(l[i+1]))
		p.turn(vectors, put)
		ADDQ(U32(2*vectors*p.width), p.dst)
		SUBQ(U32(vectors*p.lanes()), n[0])
		JMP(LabelRef(l[i]))
	}
	Label(l[2])
	end()
}

// start makes the low halves of the first counters in the order that groups needs: the even lanes are the first half of the
// groups.
func (p *philox) start() {
	p.counter = p.vec()
	step := p.vec()
	VPBROADCASTQ(Mem{Base: p.state, Disp: offStep}, step)
	VPMULUDQ(p.order(), step, step)
	VPBROADCASTQ(Mem{Base: p.state, Disp: offCounter}, p.counter)
	VPADDQ(step, p.counter, p.counter)
}

func (p *philox) order() Mem {
	lanes := p.lanes()
	name := fmt.Sprintf("order%d", lanes)
	if c, ok := constants[name]; ok {
		return c
	}
	c := GLOBL(name, RODATA|NOPTR)
	for i := range lanes {
		p.datum(i*p.bytes, uint64(i%2*lanes/2+i/2))
	}
	constants[name] = c
	return c
}

// turn does the ten rounds for several vectors of counters, round by round, so that their latencies overlap.
func (p *philox) turn(vectors int, put func(w words, to Mem)) {
	c := make([]words, vectors)
	c2, c3, step := p.vec(), p.vec(), p.vec()
	VPBROADCASTD(Mem{Base: p.state, Disp: offHigh}, c2)
	VPBROADCASTD(Mem{Base: p.state, Disp: offHigh + 4}, c3)
	VPBROADCASTQ(Mem{Base: p.state, Disp: offStep}, step)
	VPSLLQ(Imm(uint64(1+p.lanes()/4)), step, step) // times the lanes
	for i := range c {
		c[i] = words{p.copied(p.counter), p.vec(), c2, c3}
		VPSRLQ(Imm(32), p.counter, c[i][1])
		VPADDQ(step, p.counter, p.counter)
	}
	for r := range 10 {
		k0, k1 := p.vec(), p.vec()
		VPBROADCASTD(Mem{Base: p.state, Disp: offKeys + 8*r}, k0)
		VPBROADCASTD(Mem{Base: p.state, Disp: offKeys + 8*r + 4}, k1)
		for i, w := range c {
			x, y := p.vec(), p.vec()
			VPMULUDQ(p.m0, w[0], x)
			VPMULUDQ(p.m1, w[2], y)
			c[i] = words{p.mixed(y, w[1], k0), y, p.mixed(x, w[3], k1), x}
		}
	}
	for i, w := range c {
		put(w, Mem{Base: p.dst, Disp: 2 * i * p.width})
	}
}

// mixed returns the high half of a product, XORed with a word and a key.
func (p *philox) mixed(product, word, key reg.VecVirtual) reg.VecVirtual {
	high := p.vec()
	VPSRLQ(Imm(32), product, high)
	if p.wide() {
		VPTERNLOGD(Imm(0x96), key, word, high)
		return high
	}
	VPXOR(word, high, high)
	VPXOR(key, high, high)
	return high
}

// groups puts the low halves of each counter's words side by side: the groups of the even lanes, then of the odd lanes.
func (p *philox) groups(w words) [2]reg.VecVirtual {
	low, high, even, odd := p.vec(), p.vec(), p.vec(), p.vec()
	VSHUFPS(Imm(0x88), w[1], w[0], low)
	VSHUFPS(Imm(0x88), w[3], w[2], high)
	VSHUFPS(Imm(0x88), high, low, even)
	VSHUFPS(Imm(0xdd), high, low, odd)
	return [2]reg.VecVirtual{even, odd}
}

// unit makes numbers in [0, 1) from the lowest mantissa bits of v.
func (m *machine) unit(v reg.VecVirtual, mantissa int) {
	m.and(m.pattern(1<<mantissa-1), v, v)
	m.or(m.constant(1), v, v)
	m.sub(m.constant(1), v, v)
}

func (p *philox) uniform32(w words, to Mem) {
	for i, v := range p.groups(w) {
		p.single.unit(v, 23)
		p.mov(v, to.Offset(i*p.width))
	}
}

func (p *philox) uniform64(w words, to Mem) {
	for i, v := range p.groups(words{w[1], w[0], w[3], w[2]}) {
		p.unit(v, 52)
		p.mov(v, to.Offset(i*p.width))
	}
}

func (p *philox) words32(w words, to Mem) {
	for i, v := range p.groups(w) {
		p.mov(v, to.Offset(i*p.width))
	}
}
