package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// streamAhead is how far ahead a strip is prefetched, in bytes.
const streamAhead = 2 << 10

// stream is the micro-kernel of one or two rows over a packed strip. Every byte of the strip is read once, so its speed is the
// cache's as long as enough sums are in progress. So it keeps separate sums for successive k.
type stream struct{ tile }

func (s *stream) emit() {
	s.text(fmt.Sprintf("stream%s%dx%d", s.kind(), s.rows, s.vectors), "func(t *byte)", "is a micro-kernel for few rows of A and packed B.")
	s.args = Load(Param("t"), GP64()).(reg.GPVirtual)
	s.last = s.lanesMask(s.get(offLanes))
	apart := 8 / (s.rows * s.vectors)
	sums := make([][][]reg.VecVirtual, apart)
	for p := range sums {
		sums[p] = s.sums()
	}
	a, b, k := []reg.GPVirtual{s.get(offA)}, s.get(offB), s.get(offK)
	if s.rows == 2 {
		second := s.get(offARow)
		ADDQ(a[0], second)
		a = append(a, second)
	}
	l := newLabels("many", "one", "summed")
	step := func(count int) {
		for p := range count {
			s.add1(sums[p], a, b, p)
		}
		for _, r := range a {
			ADDQ(U32(uint32(count*s.bytes)), r)
		}
		ADDQ(U32(uint32(count*s.vectors*s.rowBytes())), b)
		SUBQ(U32(uint32(count)), k)
	}
	Label(l[0])
	CMPQ(k, U32(uint32(apart)))
	JLT(LabelRef(l[1]))
	step(apart)
	JMP(LabelRef(l[0]))
	Label(l[1])
	TESTQ(k, k)
	JZ(LabelRef(l[2]))
	step(1)
	JMP(LabelRef(l[1]))
	Label(l[2])
	s.acc = sums[0]
	for p := 1; p < apart; p++ {
		s.each2(func(r, i int, v reg.VecVirtual) { s.add(sums[p][r][i], v, v) })
	}
	s.finish()
	VZEROUPPER()
	RET()
}

// kind returns the part of the name that says what the strip contains.
func (s *stream) kind() string {
	if s.of == nil {
		return ""
	}
	return s.of.name
}

// rowBytes returns the bytes of a strip's row for each vector.
func (s *stream) rowBytes() int {
	if s.of == nil {
		return s.width
	}
	return s.width / 2
}

// add1 adds the product of element p of A's rows and row p of the strip.
func (s *stream) add1(sums [][]reg.VecVirtual, a []reg.GPVirtual, b reg.GPVirtual, p int) {
	row := make([]reg.VecVirtual, s.vectors)
	for i := range row {
		at := (p*s.vectors + i) * s.rowBytes()
		if at%64 == 0 {
			PREFETCHT0(Mem{Base: b, Disp: at + streamAhead})
		}
		if s.of != nil {
			row[i] = s.of.widen(s.machine, Mem{Base: b, Disp: at})
			continue
		}
		row[i] = s.vec()
		s.load(Mem{Base: b, Disp: at}, row[i], nil)
	}
	for r := range s.rows {
		v := s.vec()
		s.broadcast(Mem{Base: a[r], Disp: p * s.bytes}, v)
		for i := range row {
			s.fma231(row[i], v, sums[r][i])
		}
	}
}
