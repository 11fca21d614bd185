package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// TestCrowdedRows: rows of A that share sets of the L1 cache give the same bits as rows that do not, whether all of A is copied or
// only a task's part.
func TestCrowdedRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testCrowdedRows[float32])
		t.Run("float64", testCrowdedRows[float64])
	})
}

func testCrowdedRows[T Float](t *testing.T) {
	for _, c := range []struct{ m, n, k, lda int }{
		{380, 130, 1030, 2048}, {380, 131, 1024, 1024}, {50, 128, 1024, 1024}, {7, 130, 300, 1024}, {40, 300, 512, 512}, {200, 256, 70, 2048}, {29, 129, 1030, 2048}, {8, 127, 64, 1024},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := newRand(uint64(c.m))
			a, b := vector[T](r, c.m*c.lda), vector[T](r, c.k*c.n)
			apart, ld := make([]T, c.m*(c.k+7)), c.k+7
			for i := range c.m {
				copy(apart[i*ld:][:c.k], a[i*c.lda:])
			}
			packed := PackB(b, c.n, c.k, c.n, false)
			product := func(a []T, lda int) []T {
				y := make([]T, c.m*c.n)
				MatMulPacked(PackedArgs[T]{M: c.m, A: a, LDA: lda, B: packed, C: y, LDC: c.n})
				return y
			}
			plain := func(a []T, lda int) []T {
				y := make([]T, c.m*c.n)
				gemmSerial(GemmArgs[T]{M: c.m, N: c.n, K: c.k, Alpha: 1, A: a, LDA: lda, B: b, LDB: c.n, C: y, LDC: c.n})
				return y
			}
			if !slices.Equal(product(a, c.lda), product(apart, ld)) {
				t.Error("packed B: other bits than with rows that are not crowded")
			}
			if !slices.Equal(plain(a, c.lda), plain(apart, ld)) {
				t.Error("plain B: other bits than with rows that are not crowded")
			}
		})
	}
}

func TestCrowded(t *testing.T) {
	for _, c := range []struct {
		rows, ld int
		want     bool
	}{{14, 1024, true}, {4, 1024, true}, {3, 1024, false}, {14, 1040, false}, {6, 512, false}, {7, 512, true}, {14, 3072, true}, {12, 256, false}, {13, 256, true}, {14, 128, false}, {14, 1, false}, {14, 0, true}} {
		if got := crowded[float32](c.rows, c.ld); got != c.want {
			t.Errorf("%d rows of %d elements: got %v, expected %v", c.rows, c.ld, got, c.want)
		}
	}
}
