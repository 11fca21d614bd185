package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernels.byteTile.
const (
	offByteA     = 0
	offByteARow  = 8
	offByteB     = 16
	offByteStrip = 24
	offByteSums  = 32
	offByteRow   = 40
	offByteK     = 48
	offByteFlip  = 56
)

const (
	byteGroup = 4              // elements of k in each lane of a vector
	byteStep  = 16 * byteGroup // bytes of a strip of packed B for one group
	signBits  = 0x80808080     // turns four signed bytes into unsigned bytes that are 128 larger
)

// integers writes the micro-kernels of products of bytes: with VNNI for 1 to 14 rows and 16 or 32 columns and for 1 to 6 rows and
// 64 columns, with AVX2 for 1 to 6 rows and 8 columns; and for both the kernels that turn sums into results.
func integers() {
	avx2, avx512 := machines(single)[0], machines(single)[1]
	for r := 1; r <= 6; r++ {
		(&byteTile{machine: avx2, rows: r, vectors: 2}).emit()
	}
	for _, s := range []struct{ vectors, rows int }{{1, 14}, {2, 14}, {4, 6}} {
		for r := 1; r <= s.rows; r++ {
			(&byteTile{machine: avx512, rows: r, vectors: s.vectors}).emit()
		}
	}
	for _, m := range []*machine{avx2, avx512} {
		m.casts()
		(&finisher{machine: m}).emit("finishInts")
		(&finisher{machine: m, floats: true}).emit("finishFloats")
		(&finisher{machine: m, floats: true, bytes: true}).emit("finishBytes")
	}
}

// byteTile is the micro-kernel for unsigned bytes of A, signed bytes of packed B and 32-bit sums. B is packed in strips of 16
// columns, in which four successive elements of k of each column are adjacent.
type byteTile struct {
	*machine
	rows, vectors int
	args          reg.GPVirtual
	acc           [][]reg.VecVirtual
}

func (t *byteTile) get(offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(Mem{Base: t.args, Disp: offset}, r)
	return r
}

func (t *byteTile) emit() {
	columns := 16 * t.vectors
	if !t.wide() {
		columns = 4 * t.vectors
	}
	name := fmt.Sprintf("byteTile%dx%d%s", t.rows, columns, t.isa)
	TEXT(name, NOSPLIT, "func(t *byte)")
	Pragma("noescape")
	Doc(name + " is a micro-kernel of the product of bytes.")
	t.args = Load(Param("t"), GP64()).(reg.GPVirtual)
	t.acc = (&tile{machine: t.machine, rows: t.rows, vectors: t.vectors}).sums()
	l := newLabels("plain", "flipped", "summed")
	bases, at := rowAddresses(t.rows, t.get(offByteA), t.get(offByteARow))
	b, k, strips := t.get(offByteB), t.get(offByteK), t.strips()
	turn := func(name string, flip reg.VecVirtual) {
		Label(name)
		t.turn(at, strips(b), flip)
		for _, base := range bases {
			ADDQ(Imm(byteGroup), base)
		}
		ADDQ(Imm(byteStep), b)
		DECQ(k)
		JNZ(LabelRef(name))
	}
	flip := t.get(offByteFlip)
	TESTQ(flip, flip)
	JNZ(LabelRef(l[1]))
	turn(l[0], nil)
	JMP(LabelRef(l[2]))
	Label(l[1]) // A has signed bytes
	bits := t.vec()
	if t.wide() {
		VPBROADCASTD(flip.As32(), bits)
	}
	turn(l[1]+"k", bits)
	Label(l[2])
	t.finish()
	VZEROUPPER()
	RET()
}

// strips returns the places of the vectors of one step of B.
func (t *byteTile) strips() func(b reg.GPVirtual) []Mem {
	if !t.wide() {
		return func(b reg.GPVirtual) []Mem { return []Mem{{Base: b}, {Base: b, Disp: 16}} }
	}
	stride := t.get(offByteStrip)
	triple := GP64()
	if t.vectors > 2 {
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	}
	return func(b reg.GPVirtual) []Mem {
		return []Mem{{Base: b}, {Base: b, Index: stride, Scale: 1}, {Base: b, Index: stride, Scale: 2}, {Base: b, Index: triple, Scale: 1}}[:t.vectors]
	}
}

// turn adds the products of four elements of k.
func (t *byteTile) turn(rows, strips []Mem, flip reg.VecVirtual) {
	b := make([]reg.VecVirtual, t.vectors)
	for i, m := range strips {
		b[i] = t.vec()
		if t.wide() {
			VMOVDQU8(m, b[i])
			if t.rows == 1 {
				m.Disp += streamAhead
				PREFETCHT0(m)
			}
		} else {
			VPMOVSXBW(m, b[i])
		}
	}
	for r, m := range rows {
		a := t.group(m, flip)
		for i := range b {
			if t.wide() {
				VPDPBUSD(b[i], a, t.acc[r][i])
				continue
			}
			p := t.vec()
			VPMADDWD(b[i], a, p)
			VPADDD(p, t.acc[r][i], t.acc[r][i])
		}
	}
}

// group returns four elements of A in each lane, of 32 bits or, for products of 16-bit numbers, of 64 bits.
func (t *byteTile) group(m Mem, flip reg.VecVirtual) reg.VecVirtual {
	a := t.vec()
	if t.wide() {
		VPBROADCASTD(m, a)
		if flip != nil {
			VPXORD(flip, a, a)
		}
		return a
	}
	x := XMM()
	VPBROADCASTD(m, x)
	if flip != nil {
		VPXOR(t.pattern(signBits), x, x)
	}
	VPMOVZXBW(x, a)
	return a
}

// finish stores the sums.
func (t *byteTile) finish() {
	c, row := t.get(offByteSums), t.get(offByteRow)
	for r, sums := range t.acc {
		if r > 0 {
			ADDQ(row, c)
		}
		if !t.wide() { // a lane has two elements of k; four columns are in each vector
			VPHADDD(sums[1], sums[0], sums[0])
			VPERMQ(Imm(0xd8), sums[0], sums[0])
			sums = sums[:1]
		}
		for i, v := range sums {
			t.store(v, Mem{Base: c, Disp: i * t.width}, nil)
		}
	}
}

// Offsets in kernels.byteFinish.
const (
	finSums     = 0
	finSumRow   = 8
	finSumRows  = 16
	finVectors  = 24
	finRest     = 32
	finAdd      = 40
	finRowSums  = 48
	finZeros    = 56
	finOut      = 64
	finOutRow   = 72
	finScale    = 80
	finMore     = 88
	finLow      = 96
	finHigh     = 100
	finOutZero  = 104
	sumsRowSize = 4
)

// finisher turns sums into results, one column of vectors at a time. It adds a number for each column and subtracts the zero points
// of B. Floats are the sums times the column's factor plus another addend. Bytes are such floats rounded and clamped, plus their
// zero point.
type finisher struct {
	*machine
	floats, bytes              bool
	args                       reg.GPVirtual
	add, zeros, factor, more   reg.VecVirtual
	low, high, zero, byteOrder reg.VecVirtual
	sums, out, sumRow, outRow  reg.GPVirtual
	coefficient                reg.GPVirtual // offset of the coefficients of the current columns
}

func (f *finisher) field(offset int) Mem { return Mem{Base: f.args, Disp: offset} }

func (f *finisher) get(offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(f.field(offset), r)
	return r
}

func (f *finisher) emit(name string) {
	name += f.isa
	TEXT(name, NOSPLIT, "func(t *byte)")
	Pragma("noescape")
	Doc(name + " makes results of the sums of a tile.")
	f.args = Load(Param("t"), GP64()).(reg.GPVirtual)
	f.sums, f.out, f.sumRow, f.outRow = f.get(finSums), f.get(finOut), f.get(finSumRow), f.get(finOutRow)
	f.coefficient = GP64()
	XORQ(f.coefficient, f.coefficient)
	if f.bytes {
		f.limits()
	}
	n := f.get(finVectors)
	l := newLabels("vector", "rest", "done")
	Label(l[0])
	TESTQ(n, n)
	JZ(LabelRef(l[1]))
	f.column(nil)
	ADDQ(Imm(uint64(f.width)), f.sums)
	ADDQ(Imm(uint64(f.width)), f.coefficient)
	size := f.width
	if f.bytes {
		size /= sumsRowSize
	}
	ADDQ(Imm(uint64(size)), f.out)
	DECQ(n)
	JMP(LabelRef(l[0]))
	Label(l[1])
	if f.wide() { // before AVX-512, bytes have no mask
		rest := f.get(finRest)
		TESTQ(rest, rest)
		JZ(LabelRef(l[2]))
		k := f.lanesMask(rest)
		f.column(&k)
		Label(l[2])
	}
	VZEROUPPER()
	RET()
}

func (f *finisher) limits() {
	f.low, f.high, f.zero = f.vec(), f.vec(), f.vec()
	f.broadcast(f.field(finLow), f.low)
	f.broadcast(f.field(finHigh), f.high)
	f.broadcast(f.field(finOutZero), f.zero)
	f.byteOrder = f.lowBytes()
}

// coefficients loads one vector of numbers for columns.
func (f *finisher) coefficients(offset int, k *mask) reg.VecVirtual {
	v := f.vec()
	f.load(Mem{Base: f.get(offset), Index: f.coefficient, Scale: 1}, v, k)
	return v
}

func (f *finisher) column(k *mask) {
	l := newLabels("more", "zeros", "row", "done")
	f.add = f.coefficients(finAdd, k)
	if f.floats {
		f.factor, f.more = f.coefficients(finScale, k), f.vec()
		f.mov(f.pattern(0x80000000), f.more) // -0, which changes no number
		more := f.get(finMore)
		TESTQ(more, more)
		JZ(LabelRef(l[0]))
		f.load(Mem{Base: more, Index: f.coefficient, Scale: 1}, f.more, k)
		Label(l[0])
	}
	sums, out, rows := GP64(), GP64(), f.get(finSumRows)
	MOVQ(f.sums, sums)
	MOVQ(f.out, out)
	of := f.get(finRowSums)
	rowEnd := func(name string) {
		ADDQ(f.sumRow, sums)
		ADDQ(f.outRow, out)
		DECQ(rows)
		JNZ(LabelRef(name))
	}
	TESTQ(of, of)
	JNZ(LabelRef(l[1]))
	Label(l[2])
	f.row(sums, out, nil, k)
	rowEnd(l[2])
	JMP(LabelRef(l[3]))
	Label(l[1])
	f.zeros = f.coefficients(finZeros, k)
	Label(l[2] + "z")
	f.row(sums, out, &of, k)
	ADDQ(Imm(sumsRowSize), of)
	rowEnd(l[2] + "z")
	Label(l[3])
}

// row makes one vector of results. of is the place of the sum of A's row, nil if B has no zero points.
func (f *finisher) row(sums, out reg.GPVirtual, of *reg.GPVirtual, k *mask) {
	v := f.vec()
	f.load(Mem{Base: sums}, v, k)
	VPADDD(f.add, v, v)
	if of != nil {
		w := f.vec()
		VPBROADCASTD(Mem{Base: *of}, w)
		VPMULLD(f.zeros, w, w)
		VPSUBD(w, v, v)
	}
	if f.floats {
		VCVTDQ2PS(v, v)
		VMULPS(f.factor, v, v)
		VADDPS(f.more, v, v)
	}
	if f.bytes {
		VMAXPS(f.low, v, v)
		VMINPS(f.high, v, v)
		VCVTPS2DQ(v, v)
		VPADDD(f.zero, v, v)
		f.storeBytes(v, f.byteOrder, Mem{Base: out}, k)
		return
	}
	f.store(v, Mem{Base: out}, k)
}

// storeBytes writes the lowest byte of each lane.
func (m *machine) storeBytes(v, order reg.VecVirtual, p Mem, k *mask) {
	switch {
	case k != nil:
		VPMOVDB(v, k.k, p)
	case m.wide():
		VPMOVDB(v, p)
	default:
		high := XMM()
		VPSHUFB(order, v, v)
		VEXTRACTI128(Imm(1), v, high)
		VPUNPCKLDQ(high, v.AsX(), high)
		VMOVQ(high, p)
	}
}

// lowBytes returns VPSHUFB's operand that moves the lowest byte of each lane to the front, nil on AVX-512, which does not need it.
func (m *machine) lowBytes() reg.VecVirtual {
	if m.wide() {
		return nil
	}
	const name = "lowBytes"
	if _, ok := constants[name]; !ok {
		constants[name] = GLOBL(name, RODATA|NOPTR)
		for i, v := range []uint32{0x0c080400, 0, 0, 0, 0x0c080400, 0, 0, 0} {
			DATA(4*i, U32(v))
		}
	}
	v := YMM()
	VMOVDQU(constants[name], v)
	return v
}

// casts writes the conversions of bytes and of int32 to float32, and of float32 to bytes, for whole vectors.
func (m *machine) casts() {
	m.cast("floatsOfUint8", m.width/4, m.width, func(from Mem, v reg.VecVirtual) { VPMOVZXBD(from, v) })
	m.cast("floatsOfInt8", m.width/4, m.width, func(from Mem, v reg.VecVirtual) { VPMOVSXBD(from, v) })
	m.cast("floatsOfInt32", m.width, m.width, func(from Mem, v reg.VecVirtual) { m.mov(from, v) })
	m.cast("bytesOfFloats", m.width, m.width/4, nil)
}

// cast writes a conversion of integers, which get loads, to floats or, if get is nil, of floats to bytes.
func (m *machine) cast(name string, in, out int, get func(from Mem, v reg.VecVirtual)) {
	name += m.isa
	TEXT(name, NOSPLIT, "func(vectors int, dst, x *byte)")
	Pragma("noescape")
	Doc(name + " converts element types; vectors > 0.")
	n, dst, x := Load(Param("vectors"), GP64()), Load(Param("dst"), GP64()).(reg.GPVirtual), Load(Param("x"), GP64()).(reg.GPVirtual)
	var order reg.VecVirtual
	if get == nil {
		order = m.lowBytes()
	}
	l := newLabels("vector")
	Label(l[0])
	v := m.vec()
	if get != nil {
		get(Mem{Base: x}, v)
		VCVTDQ2PS(v, v)
		m.store(v, Mem{Base: dst}, nil)
	} else {
		VCVTTPS2DQ(Mem{Base: x}, v)
		m.storeBytes(v, order, Mem{Base: dst}, nil)
	}
	ADDQ(Imm(uint64(in)), x)
	ADDQ(Imm(uint64(out)), dst)
	DECQ(n)
	JNZ(LabelRef(l[0]))
	VZEROUPPER()
	RET()
}
