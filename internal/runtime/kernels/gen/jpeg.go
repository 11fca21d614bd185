package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// jpeg writes the kernels for decoding JPEG: the fast inverse transform, the interpolation of colours, and their conversion.
func jpeg() {
	inverseTransform()
	widen("jpegWiden", []string{"src"}, 2, [2]uint64{1, 2}, func(at []Mem) reg.VecVirtual { return bytesToWords(at[0]) })
	widen("jpegWidenBoth", []string{"near", "far"}, 4, [2]uint64{8, 7}, func(at []Mem) reg.VecVirtual {
		v := thrice(bytesToWords(at[0]))
		VPADDW(bytesToWords(at[1]), v, v)
		return v
	})
	colours()
}

// wordTable returns 32 bytes of one repeated 16-bit number.
func wordTable(v int16) Mem {
	return byteTable(uint64(uint16(v)) * 0x0001000100010001)
}

// byteTable returns 32 bytes of one repeated 64-bit pattern.
func byteTable(bits uint64) Mem {
	m := &machine{elem: double}
	return m.pattern(bits)
}

func wordsBy(f func(...Op), a, b Op) reg.VecVirtual {
	v := YMM()
	f(b, a, v)
	return v
}

func addWords(a, b Op) reg.VecVirtual {
	return wordsBy(func(o ...Op) { VPADDW(o[0], o[1], o[2]) }, a, b)
}
func subWords(a, b Op) reg.VecVirtual {
	return wordsBy(func(o ...Op) { VPSUBW(o[0], o[1], o[2]) }, a, b)
}

// scaleWords multiplies in place by a number below 512 with 8 fractional bits, and truncates the fraction.
func scaleWords(v reg.VecVirtual, by int16) {
	VPSLLW(U8(2), v, v)
	VPMULHW(wordTable(by<<6), v, v)
}

// butterfly is one dimension of the inverse transform by Arai, Agui and Nakajima, for rows that are already scaled.
func butterfly(in [8]reg.VecVirtual) (out [8]reg.VecVirtual) {
	t10, t11 := addWords(in[0], in[4]), subWords(in[0], in[4])
	t13, t12 := addWords(in[2], in[6]), subWords(in[2], in[6])
	scaleWords(t12, 362)
	VPSUBW(t13, t12, t12)
	e0, e3 := addWords(t10, t13), subWords(t10, t13)
	e1, e2 := addWords(t11, t12), subWords(t11, t12)

	z13, z10 := addWords(in[5], in[3]), subWords(in[5], in[3])
	z11, z12 := addWords(in[1], in[7]), subWords(in[1], in[7])
	o7 := addWords(z11, z13)
	VPSUBW(z13, z11, z11)
	scaleWords(z11, 362)
	z5 := addWords(z10, z12)
	scaleWords(z5, 473)
	scaleWords(z12, 277)
	VPSUBW(z5, z12, z12)
	// -669/256 is too large for scaleWords: use -413/256 - 1.
	o6 := YMM()
	VPSLLW(U8(2), z10, o6)
	VPMULHW(wordTable(-413<<6), o6, o6)
	VPSUBW(z10, o6, o6)
	VPADDW(z5, o6, o6)
	VPSUBW(o7, o6, o6)
	o5 := subWords(z11, o6)
	o4 := addWords(z12, o5)
	out[0], out[7] = addWords(e0, o7), subWords(e0, o7)
	out[1], out[6] = addWords(e1, o6), subWords(e1, o6)
	out[2], out[5] = addWords(e2, o5), subWords(e2, o5)
	out[4], out[3] = addWords(e3, o4), subWords(e3, o4)
	return out
}

// transposeWords transposes the 8 x 8 words in each half of eight vectors.
func transposeWords(v [8]reg.VecVirtual) [8]reg.VecVirtual {
	pairs := func(a, b reg.VecVirtual, low, high func(...Op)) (l, h reg.VecVirtual) {
		l, h = YMM(), YMM()
		low(b, a, l)
		high(b, a, h)
		return l, h
	}
	lw, hw := func(o ...Op) { VPUNPCKLWD(o[0], o[1], o[2]) }, func(o ...Op) { VPUNPCKHWD(o[0], o[1], o[2]) }
	ld, hd := func(o ...Op) { VPUNPCKLDQ(o[0], o[1], o[2]) }, func(o ...Op) { VPUNPCKHDQ(o[0], o[1], o[2]) }
	lq, hq := func(o ...Op) { VPUNPCKLQDQ(o[0], o[1], o[2]) }, func(o ...Op) { VPUNPCKHQDQ(o[0], o[1], o[2]) }
	var a, b, c [8]reg.VecVirtual
	for i := 0; i < 4; i++ {
		a[2*i], a[2*i+1] = pairs(v[2*i], v[2*i+1], lw, hw)
	}
	for i := 0; i < 2; i++ {
		b[4*i], b[4*i+1] = pairs(a[4*i], a[4*i+2], ld, hd)
		b[4*i+2], b[4*i+3] = pairs(a[4*i+1], a[4*i+3], ld, hd)
	}
	for i := 0; i < 4; i++ {
		c[2*i], c[2*i+1] = pairs(b[i], b[4+i], lq, hq)
	}
	return c
}

// inverseTransform writes the kernel for pairs of adjacent blocks.
func inverseTransform() {
	TEXT("jpegInverseAVX2", NOSPLIT, "func(pairs, stride int, dst, coefs, quant *byte)")
	Pragma("noescape")
	Doc("jpegInverseAVX2 transforms pairs of blocks into 8 rows of bytes; pairs > 0.")
	pairs, stride := Load(Param("pairs"), GP64()), Load(Param("stride"), GP64())
	dst, coefs, quant := Load(Param("dst"), GP64()), Load(Param("coefs"), GP64()), Load(Param("quant"), GP64())
	l := newLabels("pair")
	Label(l[0])
	var in [8]reg.VecVirtual
	for i := range in {
		x, q := YMM(), YMM()
		VBROADCASTI128(Mem{Base: coefs, Disp: 16 * i}, x) // all of x: writing a part would keep the rest alive around the loop
		VINSERTI128(U8(1), Mem{Base: coefs, Disp: 128 + 16*i}, x, x)
		VBROADCASTI128(Mem{Base: quant, Disp: 16 * i}, q)
		VPMULLW(q, x, x)
		in[i] = x
	}
	out := butterfly(transposeWords(butterfly(in)))
	bias := YMM()
	VPBROADCASTQ(byteTable(0x8080808080808080), bias)
	out = transposeWords(out)
	row := GP64()
	MOVQ(dst, row)
	for i := 0; i < 8; i += 2 {
		VPSRAW(U8(5), out[i], out[i])
		VPSRAW(U8(5), out[i+1], out[i+1])
		both := YMM() // a row in one half, the next row in the other
		VPACKSSWB(out[i+1], out[i], both)
		VPADDB(bias, both, both)
		right := XMM()
		VEXTRACTI128(U8(1), both, right)
		a, b := XMM(), XMM()
		VPUNPCKLQDQ(right, both.AsX(), a)
		VPUNPCKHQDQ(right, both.AsX(), b)
		VMOVDQU(a, Mem{Base: row})
		VMOVDQU(b, Mem{Base: row, Index: stride, Scale: 1})
		if i < 6 {
			LEAQ(Mem{Base: row, Index: stride, Scale: 2}, row)
		}
	}
	ADDQ(U32(16), dst)
	ADDQ(U32(256), coefs)
	DECQ(pairs)
	JNZ(LabelRef(l[0]))
	VZEROUPPER()
	RET()
}

func bytesToWords(p Mem) reg.VecVirtual {
	v := YMM()
	VPMOVZXBW(p, v)
	return v
}

func thrice(v reg.VecVirtual) reg.VecVirtual {
	w := addWords(v, v)
	VPADDW(v, w, w)
	return w
}

// widen writes a kernel that makes two pixels of each one: three parts of itself and one part of its left or right neighbour. line
// computes 16 pixels, and reads from one pixel before to one pixel after them.
func widen(name string, from []string, shift uint64, round [2]uint64, line func(at []Mem) reg.VecVirtual) {
	signature := "func(blocks int, dst"
	for _, f := range from {
		signature += ", " + f
	}
	TEXT(name+"AVX2", NOSPLIT, signature+" *byte)")
	Pragma("noescape")
	Doc(name + "AVX2 makes 32 pixels of 16, and reads one beside each end; blocks > 0.")
	blocks, dst := Load(Param("blocks"), GP64()), Load(Param("dst"), GP64())
	var p []reg.Register
	for _, f := range from {
		p = append(p, Load(Param(f), GP64()))
	}
	l := newLabels("block")
	Label(l[0])
	at := func(d int) (all []Mem) {
		for _, r := range p {
			all = append(all, Mem{Base: r, Disp: d})
		}
		return all
	}
	left, right := line(at(-1)), line(at(1))
	own := thrice(line(at(0)))
	for i, side := range []reg.VecVirtual{left, right} {
		VPADDW(own, side, side)
		VPADDW(wordTable(int16(round[i])), side, side)
		VPSRLW(U8(shift), side, side)
	}
	VPSLLW(U8(8), right, right)
	VPOR(right, left, left)
	VMOVDQU(left, Mem{Base: dst})
	for _, r := range p {
		ADDQ(U32(16), r)
	}
	ADDQ(U32(32), dst)
	DECQ(blocks)
	JNZ(LabelRef(l[0]))
	VZEROUPPER()
	RET()
}

// colours writes the conversion of YCbCr to red, green and blue, 16 pixels at a time. Numbers have 16 fractional bits.
func colours() {
	TEXT("jpegColoursAVX2", NOSPLIT, "func(blocks int, dst, y, cb, cr *byte)")
	Pragma("noescape")
	Doc("jpegColoursAVX2 converts 16 pixels at a time; blocks > 0.")
	blocks, dst := Load(Param("blocks"), GP64()), Load(Param("dst"), GP64())
	py, pb, pr := Load(Param("y"), GP64()), Load(Param("cb"), GP64()), Load(Param("cr"), GP64())
	l := newLabels("block")
	Label(l[0])
	y, cb, cr := bytesToWords(Mem{Base: py}), bytesToWords(Mem{Base: pb}), bytesToWords(Mem{Base: pr})
	VPSUBW(wordTable(128), cb, cb)
	VPSUBW(wordTable(128), cr, cr)
	red := addWords(y, cr) // 1.402 is 1 + 26345/65536
	VPADDW(fraction(cr, 26345), red, red)
	blue := addWords(y, cb) // 1.772 is 2 - 14942/65536
	VPADDW(cb, blue, blue)
	VPADDW(fraction(cb, -14942), blue, blue)
	green := subWords(y, cr) // -22554/65536 of cb, and 18734/65536 - 1 of cr
	low, high := YMM(), YMM()
	VPUNPCKLWD(cr, cb, low)
	VPUNPCKHWD(cr, cb, high)
	both := byteTable(uint64(uint16(0x10000-22554))*0x0000000100000001 | 18734*0x0001000000010000)
	for _, v := range []reg.VecVirtual{low, high} {
		VPMADDWD(both, v, v)
		VPADDD(byteTable(0x0000800000008000), v, v)
		VPSRAD(U8(16), v, v)
	}
	VPACKSSDW(high, low, low)
	VPADDW(low, green, green)
	interleave(dst, [3]reg.VecVirtual{red, green, blue})
	for _, p := range []reg.Register{py, pb, pr} {
		ADDQ(U32(16), p)
	}
	ADDQ(U32(48), dst)
	DECQ(blocks)
	JNZ(LabelRef(l[0]))
	VZEROUPPER()
	RET()
}

// fraction returns v times by/65536, rounded to nearest.
func fraction(v reg.VecVirtual, by int16) reg.VecVirtual {
	w := addWords(v, v)
	VPMULHW(wordTable(by), w, w)
	one := YMM()
	VMOVDQU(wordTable(1), one)
	VPADDW(one, w, w)
	VPSRAW(U8(1), w, w)
	return w
}

// interleave stores 16 pixels of three words each as bytes.
func interleave(dst reg.Register, planes [3]reg.VecVirtual) {
	var b [3]reg.VecVirtual
	for i, p := range planes {
		high := XMM()
		VEXTRACTI128(U8(1), p, high)
		b[i] = XMM()
		VPACKUSWB(high, p.AsX(), b[i])
	}
	for part := 0; part < 3; part++ {
		var sum reg.VecVirtual
		for c, v := range b {
			w := XMM()
			VPSHUFB(shuffle(part, c), v, w)
			if sum == nil {
				sum = w
				continue
			}
			VPOR(w, sum, sum)
		}
		VMOVDQU(sum, Mem{Base: dst, Disp: 16 * part})
	}
}

// shuffle returns for each byte of a part of 16 its place in the plane of a colour, or 0x80 if it is from another plane.
func shuffle(part, colour int) Mem {
	name := "jpegPixels" + string(rune('0'+part)) + string(rune('0'+colour))
	c := GLOBL(name, RODATA|NOPTR)
	for i := 0; i < 16; i++ {
		from := uint8(0x80)
		if at := 16*part + i; at%3 == colour {
			from = uint8(at / 3)
		}
		DATA(i, U8(from))
	}
	return c
}
