package kernels

import (
	"slices"
	"testing"
)

// TestDotsEitherWay repeats matrix-vector products: results do not depend on the direction in which they read the matrix, even if
// one call of assembly does not do all rows.
func TestDotsEitherWay(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, size := range [][2]int{{3, 40}, {4, 17}, {5, 9}, {191, 784}, {64, 5000}, {9, 1 << 15}, {5, 1<<15 + 100}} {
			g := gemmCase[float32](11, 1, size[0], size[1], false, true, 3)
			want := naiveGemm(g)
			gemmSerial(g)
			requireClose(t, "C", g.C, want, tolerance[float32](g.K), 27)
			first := slices.Clone(g.C)
			for range 3 {
				clear(g.C[:g.N])
				gemmSerial(g)
				if !slices.Equal(g.C[:g.N], first[:g.N]) {
					t.Fatalf("%v: another result when repeated: expected the same bits in both directions", size)
				}
			}
		}
	})
}
