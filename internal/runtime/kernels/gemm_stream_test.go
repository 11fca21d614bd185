package kernels

import (
	"fmt"
	"testing"
)

func TestMirroredKeepsHalves(t *testing.T) {
	for n := 1; n < 12; n++ {
		seen := make([]bool, n)
		for i := range n {
			m := mirrored(i, n)
			if m < 0 || m >= n || seen[m] {
				t.Fatalf("task %d of %d goes to %d, which is outside or taken", i, n, m)
			}
			if (i < n/2) != (m < n/2) || mirrored(m, n) != i {
				t.Errorf("task %d of %d goes to %d, into the other half or not back", i, n, m)
			}
			seen[m] = true
		}
	}
}

// TestStreamEitherWay repeats a product of few rows: results do not depend on the direction in which it reads B.
func TestStreamEitherWay(t *testing.T) {
	withProcs(t, 4)
	defer SetThreads(0)
	eachLevel(t, func(t *testing.T) {
		for _, s := range [][3]int{{1, 515, 700}, {2, 515, 700}, {2, 35, 9001}} { // the last one's rows in pieces
			m := s[0]
			g := gemmCase[float32](9, m, s[1], s[2], false, false, 1)
			want := naiveGemm(g)
			p := PackedArgs[float32]{M: m, A: g.A, LDA: g.LDA, B: PackB(g.B, g.LDB, g.K, g.N, false), C: g.C, LDC: g.LDC}
			MatMulPacked(p)
			requireClose(t, "C", g.C, want, tolerance[float32](g.K), 27)
			first := append([]float32(nil), g.C...)
			for threads := 1; threads <= 4; threads++ {
				SetThreads(threads)
				for range 3 {
					clear(g.C[:g.N])
					MatMulPacked(p)
					requireBits(t, fmt.Sprint(threads, " threads"), g.C, first)
				}
			}
		}
	})
}

// TestStreamOfDistantRows: rows of A that are farther apart than they are long, by a multiple of the distance that otherwise causes
// a copy.
func TestStreamOfDistantRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, n := range []int{100, 515} {
			g := gemmCase[float32](9, 2, n, 700, false, false, 1)
			a, lda := make([]float32, 2*1024), 1024
			for i := range 2 {
				copy(a[i*lda:], g.A[i*g.LDA:][:g.K])
			}
			g.A, g.LDA = a, lda
			want := naiveGemm(g)
			MatMulPacked(PackedArgs[float32]{M: 2, A: a, LDA: lda, B: PackB(g.B, g.LDB, g.K, n, false), C: g.C, LDC: g.LDC})
			requireClose(t, fmt.Sprint(n, " columns"), g.C, want, tolerance[float32](g.K), 27)
		}
	})
}
