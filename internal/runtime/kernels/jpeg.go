package kernels

// The inner loops of decoding JPEG. Their results equal the integer code of the JPEG standard's reference libraries to the bit.

// BlockLine is a line of adjacent blocks of 8 x 8 coefficients, each row by row.
type BlockLine struct {
	Coefs  []int16    // 64 for each block
	Quant  *[64]int16 // the factors of coefficients, from FastQuant
	Stride int        // distance between rows of pixels
}

// aanScales are the factors of rows and columns in the transform of Arai, Agui and Nakajima: 1, and the square root of 2 times
// cosines of multiples of pi/16. Their products are rounded to 14 fractional bits.
var aanScales = [8]float64{1, 1.387039845, 1.306562965, 1.175875602, 1, 0.785694958, 0.541196100, 0.275899379}

// FastQuant returns a quantization table multiplied by the factors of the fast transform, with 2 fractional bits.
func FastQuant(table *[64]uint16) (q [64]int16) {
	for i, v := range table {
		scale := int64(aanScales[i/8]*aanScales[i%8]*(1<<14) + 0.5)
		q[i] = int16((int64(v)*scale + 1<<11) >> 12)
	}
	return q
}

// FastInverse is the fast inverse cosine transform of a line of blocks into 8 rows of dst. Pixels differ from the accurate
// transform's by up to a few steps.
func FastInverse(dst []byte, l *BlockLine) {
	n := len(l.Coefs) / 64
	if n == 0 {
		return
	}
	_ = dst[7*l.Stride+8*n-1]
	for i := simdFastInverse(dst, l, n); i < n; i++ {
		fastBlock(dst[8*i:], l.Stride, (*[64]int16)(l.Coefs[64*i:]), l.Quant)
	}
}

func fastBlock(dst []byte, stride int, coefs, quant *[64]int16) {
	var w [64]int16
	for i := range w {
		w[i] = coefs[i] * quant[i]
	}
	for i := range 8 {
		fastLine(w[i:], 8)
	}
	for i := range 8 {
		fastLine(w[8*i:], 1)
		for j, v := range w[8*i : 8*i+8] {
			dst[i*stride+j] = clampByte(int(v>>5) + 128)
		}
	}
}

// fastLine transforms 8 words, step elements apart, in place.
func fastLine(w []int16, step int) {
	in := func(i int) int16 { return w[i*step] }
	scale := func(v, by int16) int16 { return int16(int32(v<<2) * int32(by<<6) >> 16) }
	t10, t11 := in(0)+in(4), in(0)-in(4)
	t13 := in(2) + in(6)
	t12 := scale(in(2)-in(6), 362) - t13
	even := [4]int16{t10 + t13, t11 + t12, t11 - t12, t10 - t13}
	z13, z10, z11, z12 := in(5)+in(3), in(5)-in(3), in(1)+in(7), in(1)-in(7)
	z5 := scale(z10+z12, 473)
	o7 := z11 + z13
	o6 := scale(z10, -413) - z10 + z5 - o7
	o5 := scale(z11-z13, 362) - o6
	o4 := scale(z12, 277) - z5 + o5
	for i, o := range [4]int16{o7, o6, o5, -o4} {
		w[i*step], w[(7-i)*step] = even[i]+o, even[i]-o
	}
}

func clampByte(v int) byte { return byte(min(max(v, 0), 255)) }

// WidenPixels doubles the pixels of a row of at least 3: each new pixel is three parts of its pixel and one part of a neighbour.
func WidenPixels(dst, src []byte) {
	n := len(src)
	dst = dst[:2*n]
	dst[0], dst[1] = src[0], byte((3*int(src[0])+int(src[1])+2)>>2)
	for i := 1 + simdWiden(dst[2:], src); i < n-1; i++ {
		v := 3 * int(src[i])
		dst[2*i], dst[2*i+1] = byte((v+int(src[i-1])+1)>>2), byte((v+int(src[i+1])+2)>>2)
	}
	dst[2*n-2], dst[2*n-1] = byte((3*int(src[n-1])+int(src[n-2])+1)>>2), src[n-1]
}

// WidenPixelsBoth is WidenPixels for a row between two rows: three parts of the near row and one part of the far row.
func WidenPixelsBoth(dst, near, far []byte) {
	n := len(near)
	dst, far = dst[:2*n], far[:n]
	at := func(i int) int { return 3*int(near[i]) + int(far[i]) }
	dst[0], dst[1] = byte((4*at(0)+8)>>4), byte((3*at(0)+at(1)+7)>>4)
	for i := 1 + simdWidenBoth(dst[2:], near, far); i < n-1; i++ {
		v := 3 * at(i)
		dst[2*i], dst[2*i+1] = byte((v+at(i-1)+8)>>4), byte((v+at(i+1)+7)>>4)
	}
	dst[2*n-2], dst[2*n-1] = byte((3*at(n-1)+at(n-2)+8)>>4), byte((4*at(n-1)+7)>>4)
}

// RGBPixels converts a row of YCbCr to interleaved red, green and blue.
func RGBPixels(dst, y, cb, cr []byte) {
	n := len(y)
	dst, cb, cr = dst[:3*n], cb[:n], cr[:n]
	for i := simdRGBPixels(dst, y, cb, cr); i < n; i++ {
		dst[3*i], dst[3*i+1], dst[3*i+2] = RGBPixel(y[i], cb[i], cr[i])
	}
}

// RGBPixel converts a YCbCr pixel with 16 fractional bits.
func RGBPixel(y, cb, cr byte) (r, g, b byte) {
	v, u, w := int(y), int(cb)-128, int(cr)-128
	return clampByte(v + (91881*w+1<<15)>>16), clampByte(v + (-22554*u-46802*w+1<<15)>>16), clampByte(v + (116130*u+1<<15)>>16)
}
