package kernels

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestJPEGLevels: the kernels of JPEG compute the same bits on each level, for all lengths of rows.
func TestJPEGLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	row := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32() >> 7)
		}
		return b
	}
	for n := 3; n < 70; n++ {
		a, b, c := row(n), row(n), row(n)
		line := &BlockLine{Coefs: make([]int16, 64*n), Quant: new([64]int16), Stride: 8*n + 3}
		for i := range line.Coefs {
			line.Coefs[i] = int16(r.Uint32()) >> (r.Uint32() % 16)
		}
		for i := range line.Quant {
			line.Quant[i] = int16(r.Uint32()) >> (2 + r.Uint32()%8)
		}
		var got [2][4][]byte
		for i, l := range []Level{Portable, BestLevel()} {
			SetLevel(l)
			got[i] = [4][]byte{make([]byte, 2*n), make([]byte, 2*n), make([]byte, 3*n), make([]byte, 8*line.Stride)}
			WidenPixels(got[i][0], a)
			WidenPixelsBoth(got[i][1], a, b)
			RGBPixels(got[i][2], a, b, c)
			FastInverse(got[i][3], line)
		}
		for k := range got[0] {
			if !bytes.Equal(got[0][k], got[1][k]) {
				t.Fatalf("rows of %d pixels: kernel %d differs from the portable one", n, k)
			}
		}
	}
	SetLevel(BestLevel())
}
