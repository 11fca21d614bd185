package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold is a micro-kernel for the last columns of a product, at most half or a quarter of a vector. A vector has the elements of 2
// or 4 successive k for each of 8 or 4 columns. B is packed in that order, the elements of A are broadcast 2 or 4 at a time,
// and sums of the same column are added at the end.
type fold struct {
	tile
	per int // k in a vector
}

func (f *fold) emit() {
	f.text(fmt.Sprintf("fold%dx%d", f.rows, f.per), "func(t *byte)", "is a micro-kernel for the last columns of a product.")
	f.args = Load(Param("t"), GP64()).(reg.GPVirtual)
	f.last = f.lanesMask(f.get(offLanes))
	f.acc = f.sums()
	f.loop()
	if f.per == 4 {
		f.quarters()
	} else {
		f.halves()
	}
	f.finish()
	VZEROUPPER()
	RET()
}

func (f *fold) loop() {
	bases, at := rowAddresses(f.rows, f.get(offA), f.get(offARow))
	b, k := f.get(offB), f.get(offK)
	l := newLabels("whole", "rest", "summed")
	turn := func(broadcast func(from Mem, to reg.VecVirtual)) {
		row := f.vec()
		f.mov(Mem{Base: b}, row)
		for r := range f.rows {
			a := f.vec()
			broadcast(at[r], a)
			f.fma231(row, a, f.acc[r][0])
		}
	}
	Label(l[0])
	CMPQ(k, U32(uint32(f.per)))
	JLT(LabelRef(l[1]))
	turn(func(from Mem, to reg.VecVirtual) {
		if f.per == 4 {
			VBROADCASTF32X4(from, to)
		} else {
			VBROADCASTSD(from, to)
		}
	})
	for _, base := range bases {
		ADDQ(U32(uint32(f.per*f.bytes)), base)
	}
	ADDQ(U32(uint32(f.width)), b)
	SUBQ(U32(uint32(f.per)), k)
	JMP(LabelRef(l[0]))
	Label(l[1])
	TESTQ(k, k)
	JZ(LabelRef(l[2]))
	some := f.lanesMask(k)
	turn(func(from Mem, to reg.VecVirtual) {
		f.load(from, to, &some)
		if f.per == 4 {
			VSHUFF32X4(U8(0), to, to, to)
		} else {
			VBROADCASTSD(to.AsX(), to)
		}
	})
	Label(l[2])
}

// quarters adds the four adjacent sums of each element, for four rows at a time.
func (f *fold) quarters() {
	order := f.vec()
	f.mov(f.lanesAt("quarters", quarterOrder), order)
	zero := f.vec()
	f.zero(zero)
	for first := 0; first < f.rows; first += 4 {
		in := [4]reg.VecVirtual{zero, zero, zero, zero}
		for r := first; r < min(first+4, f.rows); r++ {
			in[r-first] = f.acc[r][0]
		}
		var pairs [2]reg.VecVirtual // for rows, each with two sums of two
		for p := range pairs {
			low, high := f.vec(), f.vec()
			VUNPCKLPS(in[2*p+1], in[2*p], low)
			VUNPCKHPS(in[2*p+1], in[2*p], high)
			f.add(high, low, low)
			pairs[p] = low
		}
		low, high := f.vec(), f.vec()
		VSHUFPS(U8(0x44), pairs[1], pairs[0], low)
		VSHUFPS(U8(0xee), pairs[1], pairs[0], high)
		f.add(high, low, low)
		VPERMPS(low, order, low) // from column order to row order
		for r := first; r < min(first+4, f.rows); r++ {
			VEXTRACTF32X4(U8(r-first), low, f.acc[r][0].AsX())
		}
	}
}

// halves adds the two adjacent sums of each element, for two rows at a time.
func (f *fold) halves() {
	order := f.vec()
	f.mov(f.lanesAt("halves", func(lane int) int { return lane/2%4*4 + lane/8*2 + lane%2 }), order)
	for first := 0; first < f.rows; first += 2 {
		second := min(first+1, f.rows-1)
		low, high := f.vec(), f.vec()
		VSHUFPS(U8(0x88), f.acc[second][0], f.acc[first][0], low)
		VSHUFPS(U8(0xdd), f.acc[second][0], f.acc[first][0], high)
		f.add(high, low, low)
		VPERMPS(low, order, low)
		VMOVUPS(low, f.acc[first][0])
		VEXTRACTF64X4(U8(1), low, f.acc[second][0].AsY())
	}
}

// lanesAt returns a vector of lane numbers in memory.
func (m *machine) lanesAt(name string, at func(lane int) int) Mem {
	if c, ok := constants[name]; ok {
		return c
	}
	c := GLOBL(name+m.name, RODATA|NOPTR)
	for i := range m.lanes() {
		m.datum(i*m.bytes, uint64(at(i)))
	}
	constants[name] = c
	return c
}

// packFold writes the copy of B's last columns that fold reads.
func (m *machine) packFold(per int) {
	n, p := m.function(fmt.Sprintf("packFold%d", per), fmt.Sprintf("copies groups of %d rows of b for fold kernels; groups > 0.", per),
		[]string{"groups", "stride", "cols"}, []string{"dst", "b"})
	groups, stride, dst, b := n[0], n[1], p[0], p[1]
	columns := m.lanesMask(n[2])
	order, step := m.vec(), GP64()
	MOVQ(stride, step)
	if per == 4 {
		m.mov(m.lanesAt("quarters", quarterOrder), order)
		SHLQ(Imm(2), step)
	} else {
		m.mov(m.lanesAt("pairs", func(lane int) int { return lane%2*8 + lane/2 }), order)
		SHLQ(Imm(1), step)
	}
	_, at := rowAddresses(per, b, stride)
	l := newLabels("group")
	Label(l[0])
	all := m.vec()
	m.load(at[0], all, &columns)
	for r := 1; r < per; r++ {
		v := m.vec()
		m.load(at[r], v, &columns)
		if per == 4 {
			VINSERTF32X4(U8(r), v.AsX(), all, all)
		} else {
			VINSERTF64X4(U8(r), v.AsY(), all, all)
		}
	}
	VPERMPS(all, order, all)
	m.mov(all, Mem{Base: dst})
	ADDQ(step, b)
	ADDQ(U32(uint32(m.width)), dst)
	DECQ(groups)
	JNZ(LabelRef(l[0]))
	end()
}

// quarterOrder exchanges a lane's place within its quarter with the number of the quarter.
func quarterOrder(lane int) int { return lane%4*4 + lane/4 }
