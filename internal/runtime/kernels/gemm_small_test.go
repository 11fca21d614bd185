package kernels

import (
	"fmt"
	"testing"
)

// TestGemmLastColumns tests products whose last columns fill less than half of a vector, with every number of remaining k and of
// rows in the last tile.
func TestGemmLastColumns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for n := 1; n <= 41; n++ {
			if n > 9 && n < 16 {
				continue // no part of a vector
			}
			for m := 26; m <= 41; m++ {
				g := gemmCase[float32](uint64(n*100+m), m, n, 40+m%5, false, false, 3)
				g.Alpha, g.Relu = []float32{1, -2.5}[m%2], m%3 == 0
				g.Beta = []float32{0, 1}[n%2]
				if m%4 == 0 {
					g.Bias = vector[float32](newRand(1), n)
				}
				want := naiveGemm(g)
				Gemm(g)
				requireClose(t, fmt.Sprint(m, n), g.C, want, 1e-5, 6)
			}
		}
	})
}

func TestSmallGemmDoesNotAllocate(t *testing.T) {
	for _, n := range []int{8, 96, 100} {
		g := gemmCase[float32](3, 100, n, 100, false, false, 0)
		requireNoAllocs(t, fmt.Sprint(n, " columns"), func() { Gemm(g) })
	}
}
