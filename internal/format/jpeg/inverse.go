package jpeg

import "github.com/goestimator/goestimator/internal/runtime/kernels"

// transform makes the pixels of line y of a component's blocks.
func (d *decoder) transform(c *component, y int) {
	coefs := c.coefs[64*y*c.perLine%len(c.coefs):][:64*c.perLine]
	dst := c.plane[y*c.size*c.stride:]
	if c.size == 8 && !d.Accurate {
		q := kernels.FastQuant(c.quant)
		kernels.FastInverse(dst, &kernels.BlockLine{Coefs: coefs, Quant: &q, Stride: c.stride})
		return
	}
	inverse := map[int]func(dst []byte, stride int, w *[64]int32){1: inverse1, 2: inverse2, 4: inverse4, 8: inverse8}[c.size]
	for x := range c.perLine {
		var w [64]int32
		for i, v := range coefs[64*x : 64*x+64] {
			w[i] = int32(v) * int32(c.quant[i])
		}
		inverse(dst[x*c.size:], c.stride, &w)
	}
}

// The transforms below use integers: constants have 13 fractional bits, and values between the column and row passes have 2.
const (
	fraction = 13
	between  = 2
)

// down rounds off n fractional bits.
func down(v int32, n int) int32 { return (v + 1<<(n-1)) >> n }

func pixel(v int32) byte { return byte(min(max(v+128, 0), 255)) }

// inverse1 uses only the mean.
func inverse1(dst []byte, _ int, w *[64]int32) { dst[0] = pixel(down(w[0], 3)) }

// inverse2 makes 2 x 2 pixels from a block.
func inverse2(dst []byte, stride int, w *[64]int32) {
	line := func(a, b, c, d, e int32, n int) (int32, int32) {
		even := a << (fraction + 2)
		odd := e*-5906 + d*6967 + c*-10426 + b*29692
		return down(even+odd, n), down(even-odd, n)
	}
	for i := range 8 {
		w[i], w[8+i] = line(w[i], w[8+i], w[24+i], w[40+i], w[56+i], fraction-between+2)
	}
	for y := range 2 {
		r := w[8*y:]
		a, b := line(r[0], r[1], r[3], r[5], r[7], fraction+between+3+2)
		dst[y*stride], dst[y*stride+1] = pixel(a), pixel(b)
	}
}

// inverse4 makes 4 x 4 pixels from a block.
func inverse4(dst []byte, stride int, w *[64]int32) {
	line := func(in []int32, step, n int) [4]int32 {
		at := func(i int) int32 { return in[i*step] }
		a := at(0) << (fraction + 1)
		b := at(2)*15137 + at(6)*-6270
		odd0 := at(7)*-1730 + at(5)*11893 + at(3)*-17799 + at(1)*8697
		odd2 := at(7)*-4176 + at(5)*-4926 + at(3)*7373 + at(1)*20995
		return [4]int32{down(a+b+odd2, n), down(a-b+odd0, n), down(a-b-odd0, n), down(a+b-odd2, n)}
	}
	for i := range 8 {
		for y, v := range line(w[i:], 8, fraction-between+1) {
			w[8*y+i] = v
		}
	}
	for y := range 4 {
		for x, v := range line(w[8*y:], 1, fraction+between+3+1) {
			dst[y*stride+x] = pixel(v)
		}
	}
}

// inverse8 is the accurate transform of Loeffler, Ligtenberg and Moschytz.
func inverse8(dst []byte, stride int, w *[64]int32) {
	for i := range 8 {
		for y, v := range line8(w[i:], 8, fraction-between) {
			w[8*y+i] = v
		}
	}
	for y := range 8 {
		for x, v := range line8(w[8*y:], 1, fraction+between+3) {
			dst[y*stride+x] = pixel(v)
		}
	}
}

func line8(in []int32, step, n int) [8]int32 {
	at := func(i int) int32 { return in[i*step] }
	z := (at(2) + at(6)) * 4433
	t2, t3 := z-at(6)*15137, z+at(2)*6270
	t0, t1 := (at(0)+at(4))<<fraction, (at(0)-at(4))<<fraction
	even := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}
	a, b, c, d := at(7), at(5), at(3), at(1)
	z1, z2, z3, z4 := a+d, b+c, a+c, b+d
	z5 := (z3 + z4) * 9633
	z1, z2, z3, z4 = -z1*7373, -z2*20995, -z3*16069+z5, -z4*3196+z5
	odd := [4]int32{d*12299 + z1 + z4, c*25172 + z2 + z3, b*16819 + z2 + z4, a*2446 + z1 + z3}
	var out [8]int32
	for i := range 4 {
		out[i], out[7-i] = down(even[i]+odd[i], n), down(even[i]-odd[i], n)
	}
	return out
}
