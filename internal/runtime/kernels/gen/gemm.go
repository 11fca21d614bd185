package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernels.tileArgs.
const (
	offA     = 0
	offB     = 8
	offC     = 16
	offARow  = 24
	offAK    = 32
	offBK    = 40
	offCRow  = 48
	offK     = 56
	offLanes = 64
	offOld   = 72
	offAlpha = 80
	offRuns  = 88
	offASkip = 96
	offBias  = 104
	offRelu  = 112
	offStrip = 120
	offScale = 128
)

// gemm writes the micro-kernels (numbers in brackets are for AVX2): 1 to 14 (6) rows and 1 or 2 vectors; up to 28 (12) rows and
// one vector, for few columns; 1 or 2 rows and up to 8 (4) vectors, for products with few rows; kernels that stream a packed
// strip by one or two rows; and the transposing kernels for packing. Only on AVX-512: up to 9 rows and 3 vectors, and 6 rows
// and 4 vectors, for small products; and kernels for a part of a vector of float32.
func gemm(e *elem) {
	for _, m := range machines(e) {
		rows, widest := 6, 4
		high := []int{12, 6, 2, 2}
		if m.wide() {
			rows, widest = 14, 8
			high = []int{28, 14, 9, 6, 2, 2, 2, 2}
		}
		for vectors := 1; vectors <= widest; vectors++ {
			for r := 1; r <= high[vectors-1]; r++ {
				(&tile{machine: m, rows: r, vectors: vectors}).emit()
			}
			for r := 1; r <= 2 && vectors <= 2; r++ {
				(&stream{tile{machine: m, rows: r, vectors: vectors}}).emit()
			}
			for r := 1; r <= rows && vectors <= 2; r++ {
				(&tile{machine: m, rows: r, vectors: vectors, packs: true}).emit()
			}
		}
		for per := 2; per <= 4 && m.wide() && e == single; per += 2 {
			m.packFold(per)
			for r := 1; r <= rows; r++ {
				(&fold{tile{machine: m, rows: r, vectors: 1}, per}).emit()
			}
		}
	}
	transpose(machines(e)[0])
}

// tile is one micro-kernel: C (+)= alpha * A*B for a tile of rows x vectors, A broadcast element by element from
// anywhere, the sums in registers.
type tile struct {
	*machine
	rows, vectors int
	packs         bool    // also packs the rows of B that it reads into a strip
	of            *format // format of B's elements; nil: the sums' format
	args          reg.GPVirtual
	last          mask
	acc           [][]reg.VecVirtual
}

func (t *tile) field(offset int) Mem { return Mem{Base: t.args, Disp: offset} }

func (t *tile) get(offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(t.field(offset), r)
	return r
}

func (t *tile) emit() {
	name := "tile"
	switch {
	case t.packs:
		name = "pack"
	case t.of != nil:
		name += t.of.name
	}
	t.text(fmt.Sprintf("%s%dx%d", name, t.rows, t.vectors), "func(t *byte)", "is a micro-kernel of the matrix product.")
	t.args = Load(Param("t"), GP64()).(reg.GPVirtual)
	lanes := t.get(offLanes)
	t.last = t.lanesMask(lanes)
	t.acc = t.sums()
	if !t.spreads() {
		t.prefetchC()
	}
	t.loop()
	t.finish()
	VZEROUPPER()
	RET()
}

// sums returns a zeroed register for each vector of the tile.
func (t *tile) sums() [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, t.rows)
	for r := range acc {
		for range t.vectors {
			v := t.vec()
			t.zero(v)
			acc[r] = append(acc[r], v)
		}
	}
	return acc
}

// rowAddresses returns the addresses of rows 0.. at base pointers five rows apart, for a run-time row stride.
func rowAddresses(rows int, first, stride reg.GPVirtual) (bases []reg.GPVirtual, at []Mem) {
	triple := stride
	if rows > 3 {
		triple = GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	}
	base := first
	for r := range rows {
		if r%5 == 0 && r > 0 {
			next := GP64()
			LEAQ(Mem{Base: base, Index: stride, Scale: 4}, next)
			ADDQ(stride, next)
			base = next
		}
		if r%5 == 0 {
			bases = append(bases, base)
		}
		m := Mem{Base: base}
		switch r % 5 {
		case 1, 2, 4:
			m.Index, m.Scale = stride, uint8(r%5)
		case 3:
			m.Index, m.Scale = triple, 1
		}
		at = append(at, m)
	}
	return bases, at
}

func (t *tile) loop() {
	bases, at := rowAddresses(t.rows, t.get(offA), t.get(offARow))
	b, aK, bK, k, runs := t.get(offB), t.get(offAK), t.get(offBK), t.get(offK), t.get(offRuns)
	var strip, ahead reg.GPVirtual
	if t.packs {
		strip, ahead = t.get(offStrip), GP64()
		MOVQ(bK, ahead)
		SHLQ(Imm(5), ahead)
		ADDQ(b, ahead)
	}
	next := func(name string) {
		for _, base := range bases {
			ADDQ(aK, base)
		}
		ADDQ(bK, b)
		DECQ(k)
		JNZ(LabelRef(name))
	}
	if t.spreads() {
		t.fetchingTurns(k, func(name string) {
			t.turn(at, t.rowOfB(b, &t.last))
			next(name)
		})
	}
	turn := func(last *mask, name string) {
		Label(name)
		columns := t.rowOfB(b, last)
		if t.packs {
			t.pack(columns, strip, ahead)
			ADDQ(bK, ahead)
		}
		t.turn(at, columns)
		next(name)
		for _, base := range bases {
			ADDQ(t.field(offASkip), base)
		}
		MOVQ(t.field(offK), k)
		DECQ(runs)
		JNZ(LabelRef(name))
	}
	l := newLabels("partial", "full", "summed")
	if !t.wide() { // before AVX-512, masks are expensive
		CMPQ(t.field(offLanes), Imm(uint64(t.lanes())))
		JNE(LabelRef(l[0]))
		turn(nil, l[1])
		JMP(LabelRef(l[2]))
	}
	turn(&t.last, l[0])
	Label(l[2])
}

// rowOfB loads one row of B.
func (t *tile) rowOfB(b reg.GPVirtual, last *mask) []reg.VecVirtual {
	columns := make([]reg.VecVirtual, t.vectors)
	for i := range columns {
		if t.of != nil { // packed: vectors are whole
			columns[i] = t.of.widen(t.machine, Mem{Base: b, Disp: i * t.width / 2})
			continue
		}
		columns[i] = t.vec()
		var k *mask
		if i == t.vectors-1 {
			k = last
		}
		t.load(Mem{Base: b, Disp: i * t.width}, columns[i], k)
	}
	return columns
}

// pack writes a row of B to the strip and prefetches a later row: the rows are apart, so the processor would not.
func (t *tile) pack(columns []reg.VecVirtual, strip, ahead reg.GPVirtual) {
	for i, v := range columns {
		t.store(v, Mem{Base: strip, Disp: i * t.width}, nil)
		if i*t.width%64 == 0 {
			PREFETCHT1(Mem{Base: ahead, Disp: i * t.width})
		}
	}
	ADDQ(U32(uint32(t.vectors*t.width)), strip)
}

// turn adds the product of one column of A and one row of B.
func (t *tile) turn(at []Mem, columns []reg.VecVirtual) {
	for r := range t.rows {
		a := t.vec()
		t.broadcast(at[r], a)
		for i := range columns {
			t.fma231(columns[i], a, t.acc[r][i])
		}
	}
}

// longTile is the k from which a tile of C is prefetched.
const longTile = 64

// spreads reports whether the rows of C are prefetched one by one, during the first iterations of the loop. This leaves the
// processor room for other requests, and saves 5 percent of a product whose C comes from beyond the L2 cache. The highest and the
// packing kernels have no registers left for it, and the AVX2 kernels already have two loops.
func (t *tile) spreads() bool { return t.wide() && t.rows > 2 && t.rows <= 14 && !t.packs }

// fetchingTurns prefetches a row of C in each of the first iterations of a long loop, and leaves the number of the rest in k.
func (t *tile) fetchingTurns(k reg.GPVirtual, turn func(name string)) {
	l := newLabels("fetch", "fetched")
	CMPQ(t.field(offK), Imm(longTile))
	JLT(LabelRef(l[1]))
	c, row := t.get(offC), t.get(offCRow)
	MOVQ(U32(uint32(t.rows)), k)
	Label(l[0])
	t.prefetchRow(c)
	ADDQ(row, c)
	turn(l[0])
	MOVQ(t.field(offK), k)
	SUBQ(U32(uint32(t.rows)), k)
	Label(l[1])
}

// prefetchC prefetches all rows of C at once.
func (t *tile) prefetchC() {
	if t.rows < 3 {
		return
	}
	l := newLabels("fetched")
	CMPQ(t.field(offK), Imm(longTile))
	JLT(LabelRef(l[0]))
	c, row := t.get(offC), t.get(offCRow)
	for r := range t.rows {
		t.prefetchRow(c)
		if r < t.rows-1 {
			ADDQ(row, c)
		}
	}
	Label(l[0])
}

func (t *tile) prefetchRow(c reg.GPVirtual) {
	for i := 0; i < t.vectors*t.width; i += 64 {
		PREFETCHT1(Mem{Base: c, Disp: i})
	}
}

// finish multiplies the sums by alpha and the scale, adds the bias and the old values, clips below zero and stores the results.
func (t *tile) finish() {
	l := newLabels("biased", "added", "clipped", "part", "stored", "byAlpha", "scaled")
	one := GP64()
	MOVQ(U64(t.one()), one)
	CMPQ(t.field(offAlpha), one)
	JE(LabelRef(l[5]))
	alpha := t.vec()
	t.broadcast(t.field(offAlpha), alpha)
	t.each2(func(_, _ int, v reg.VecVirtual) { t.mul(alpha, v, v) })
	Label(l[5])
	t.byColumn(offScale, l[6], t.mul)
	t.byColumn(offBias, l[0], t.add)
	old, row := t.get(offOld), t.get(offCRow)
	TESTQ(old, old)
	JZ(LabelRef(l[1]))
	t.each2(func(r, i int, v reg.VecVirtual) {
		if i == 0 && r > 0 {
			ADDQ(row, old)
		}
		t.addMemory(Mem{Base: old, Disp: i * t.width}, v, t.maskOf(i))
	})
	Label(l[1])
	CMPQ(t.field(offRelu), Imm(0))
	JE(LabelRef(l[2]))
	zero := t.vec()
	t.zero(zero)
	t.each2(func(_, _ int, v reg.VecVirtual) { t.max(v, zero, v) }) // returns the second source if it is NaN
	Label(l[2])
	c := t.get(offC)
	if t.wide() {
		t.rowsOut(c, row, &t.last)
		return
	}
	CMPQ(t.field(offLanes), Imm(uint64(t.lanes()))) // before AVX-512, a masked store costs many cycles
	JNE(LabelRef(l[3]))
	t.rowsOut(c, row, nil)
	JMP(LabelRef(l[4]))
	Label(l[3])
	t.rowsOut(c, row, &t.last)
	Label(l[4])
}

// byColumn applies op to every sum and its column's element of the vector that the field points to. It does nothing if that is nil.
func (t *tile) byColumn(field int, done string, op func(...Op)) {
	from := t.get(field)
	TESTQ(from, from)
	JZ(LabelRef(done))
	for i := range t.vectors {
		v := t.vec()
		t.load(Mem{Base: from, Disp: i * t.width}, v, t.maskOf(i))
		for r := range t.rows {
			op(v, t.acc[r][i], t.acc[r][i])
		}
	}
	Label(done)
}

// each2 calls f for every sum, row by row.
func (t *tile) each2(f func(r, i int, v reg.VecVirtual)) {
	for r := range t.rows {
		for i, v := range t.acc[r] {
			f(r, i, v)
		}
	}
}

// maskOf returns the mask of vector i of a row, nil except for the last.
func (t *tile) maskOf(i int) *mask {
	if i == t.vectors-1 {
		return &t.last
	}
	return nil
}

func (t *tile) rowsOut(c, row reg.GPVirtual, last *mask) {
	t.each2(func(r, i int, v reg.VecVirtual) {
		if i == 0 && r > 0 {
			ADDQ(row, c)
		}
		var k *mask
		if i == t.vectors-1 {
			k = last
		}
		t.store(v, Mem{Base: c, Disp: i * t.width}, k)
	})
}
