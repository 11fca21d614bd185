package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// half writes the kernels of the two 16-bit floats: conversions, roundings of float32, and products with a 16-bit right
// operand.
func half() {
	for _, m := range machines(single) {
		m.roundings()
		m.addProduct()
		for _, f := range formats {
			m.convert("widen"+f.name, 2, 4, f.widen)
			m.convert("narrow"+f.name, 4, 2, f.narrow)
			m.products(f)
		}
	}
	pairProducts()
}

// format is a 16-bit float.
type format struct {
	name   string
	widen  func(m *machine, from Mem) reg.VecVirtual  // a vector of float32
	narrow func(m *machine, v reg.VecVirtual, to Mem) // rounds to nearest, ties to even
	round  func(m *machine, v reg.VecVirtual) reg.VecVirtual
}

var (
	brainFormat = &format{"Brain", (*machine).widenBrain, (*machine).narrowBrain, (*machine).nearestBrain}
	halfFormat  = &format{"Half", (*machine).widenHalf, (*machine).narrowHalf, (*machine).nearestHalf}
	formats     = []*format{brainFormat, halfFormat}
)

// Bit patterns of float32.
const (
	quietNaN  = 0x7fc00000
	quietBit  = 0x00400000
	brainMask = 0xffff0000
)

func (m *machine) roundings() {
	for _, f := range formats {
		m.elementwise("nearest"+f.name, 1, 2, func(v []reg.VecVirtual) reg.VecVirtual { return f.round(m, v[0]) })
	}
	m.elementwise("truncateBrain", 1, unroll, func(v []reg.VecVirtual) reg.VecVirtual {
		cut := m.vec()
		m.and(m.pattern(brainMask), v[0], cut)
		return m.compare(unordered, v[0], v[0]).pick(v[0], cut)
	})
}

// addProduct writes y += k*x, with the product and the sum rounded to float16.
func (m *machine) addProduct() {
	n, p := m.function("addProductHalf", "adds k*x to y and rounds each step.", []string{"n"}, []string{"y", "x"}, "k")
	scalar := m.scalar("k")
	m.each(n[0], p, 2, func(disp int, k *mask) {
		x, y := m.vec(), m.vec()
		m.load(Mem{Base: p[1], Disp: disp}, x, k)
		m.load(Mem{Base: p[0], Disp: disp}, y, k)
		m.mul(scalar, x, x)
		m.add(m.throughHalf(x), y, y)
		m.store(m.throughHalf(y), Mem{Base: p[0], Disp: disp}, k)
	})
	end()
}

// throughHalf rounds to float16; NaNs keep their payloads.
func (m *machine) throughHalf(v reg.VecVirtual) reg.VecVirtual {
	narrow, r := m.halfVector(), m.vec()
	VCVTPS2PH(Imm(0), v, narrow)
	VCVTPH2PS(narrow, r)
	return r
}

// nearestBrain rounds by adding half a unit of the last place kept, minus 1 if that place is even.
func (m *machine) nearestBrain(v reg.VecVirtual) reg.VecVirtual {
	odd, nan := m.vec(), m.vec()
	VPSRLD(Imm(16), v, odd)
	m.and(m.pattern(1), odd, odd)
	VPADDD(m.pattern(0x7fff), odd, odd)
	VPADDD(v, odd, odd)
	m.or(m.pattern(quietBit), v, nan)
	r := m.compare(unordered, v, v).pick(nan, odd)
	m.and(m.pattern(brainMask), r, r)
	return r
}

func (m *machine) nearestHalf(v reg.VecVirtual) reg.VecVirtual {
	return m.throughHalf(m.withoutPayload(v))
}

// withoutPayload gives all NaNs of one sign the same bits.
func (m *machine) withoutPayload(v reg.VecVirtual) reg.VecVirtual {
	nan := m.vec()
	m.and(m.sign(), v, nan)
	m.or(m.pattern(quietNaN), nan, nan)
	return m.compare(unordered, v, v).pick(nan, v)
}

// halfVector returns a register of half a vector.
func (m *machine) halfVector() reg.VecVirtual {
	if m.wide() {
		return YMM()
	}
	return XMM()
}

func (m *machine) widenBrain(from Mem) reg.VecVirtual {
	v := m.vec()
	VPMOVZXWD(from, v)
	VPSLLD(Imm(16), v, v)
	return v
}

func (m *machine) widenHalf(from Mem) reg.VecVirtual {
	v := m.vec()
	VCVTPH2PS(from, v)
	return v
}

func (m *machine) narrowBrain(v reg.VecVirtual, to Mem) {
	r := m.nearestBrain(v)
	VPSRLD(Imm(16), r, r)
	if m.wide() {
		VPMOVDW(r, to)
		return
	}
	low := XMM()
	VEXTRACTI128(Imm(1), r, low)
	VPACKUSDW(low, r.AsX(), low)
	VMOVDQU(low, to)
}

func (m *machine) narrowHalf(v reg.VecVirtual, to Mem) {
	VCVTPS2PH(Imm(0), m.withoutPayload(v), to)
}

// convertBlock is the number of elements of one iteration of a conversion.
const convertBlock = 16

// convert writes a loop over blocks of elements. step reads or returns a vector of float32.
func (m *machine) convert(name string, from, to int, step any) {
	n, p := m.function(name, "converts blocks of 16 elements.", []string{"blocks"}, []string{"dst", "src"})
	l := newLabels("block")
	Label(l[0])
	for i := 0; i < convertBlock; i += m.lanes() {
		dst, src := Mem{Base: p[0], Disp: i * to}, Mem{Base: p[1], Disp: i * from}
		switch f := step.(type) {
		case func(*machine, Mem) reg.VecVirtual:
			m.store(f(m, src), dst, nil)
		case func(*machine, reg.VecVirtual, Mem):
			v := m.vec()
			m.load(src, v, nil)
			f(m, v, dst)
		}
	}
	ADDQ(U32(convertBlock*to), p[0])
	ADDQ(U32(convertBlock*from), p[1])
	DECQ(n[0])
	JNZ(LabelRef(l[0]))
	end()
}

// products writes the micro-kernels for packed B of a format, or of the machine's elements for nil.
func (m *machine) products(f *format) {
	high := []int{12, 6}
	if m.wide() {
		high = []int{28, 14}
	}
	for i, rows := range high {
		for r := 1; r <= rows; r++ {
			(&tile{machine: m, rows: r, vectors: i + 1, of: f}).emit()
		}
		for r := 1; r <= 2; r++ {
			(&stream{tile{machine: m, rows: r, vectors: i + 1, of: f}}).emit()
		}
	}
}

// pairProducts writes the micro-kernels for AVX512_BF16, whose elements are pairs of bfloat16: two successive k.
func pairProducts() {
	pair := *single
	pair.name, pair.fma231 = "Pair", VPDPWSSD
	m := &machine{&pair, "AVX512", 64}
	m.products(nil)
	m.pairs()
}

// pairs writes the kernel that copies the upper halves of float32s, which are bfloat16s.
func (m *machine) pairs() {
	n, p := m.function("pairs", "makes pairs of bfloat16 of 16 elements a block.", []string{"blocks"}, []string{"dst", "src"})
	l := newLabels("block")
	Label(l[0])
	v := m.vec()
	m.load(Mem{Base: p[1]}, v, nil)
	VPSRLD(Imm(16), v, v)
	VPMOVDW(v, Mem{Base: p[0]})
	ADDQ(U32(32), p[0])
	ADDQ(U32(64), p[1])
	DECQ(n[0])
	JNZ(LabelRef(l[0]))
	end()
}
