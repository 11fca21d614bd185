package kernels

import "unsafe"

// smallProduct is the most M*N*K of a product that is done at once, without a plan.
const smallProduct = 1 << 18

// gemmSmall does a product whose operands fit into the L1 cache as they are, and reports whether this was one: below
// some thousand multiplications a plan would cost more than the product.
func gemmSmall[T Float](g *GemmArgs[T]) bool {
	if g.M*g.N*g.K > smallProduct || g.TransB || g.K*g.LDB*int(unsafe.Sizeof(g.Alpha)) > compactB || g.K == 0 || g.Alpha == 0 || (g.Beta != 0 && g.Beta != 1) || g.N == 1 {
		return false
	}
	tiles, size := tilesFor[T](ActiveLevel()), int(unsafe.Sizeof(T(0)))
	t := tileArgsFree.get()
	t.aRow, t.aK, t.bK, t.cRow = g.LDA*size, size, g.LDB*size, g.LDC*size
	step := g.LDA // elements of A between rows of op(A)
	if g.TransA {
		t.aRow, t.aK, step = size, t.aRow, 1
	}
	t.k, t.runs, t.alpha, t.relu = g.K, 1, floatBits(g.Alpha), 0
	if g.Relu {
		t.relu = 1
	}
	nr, panels := tiles.width(g.M), ceilDiv(g.M, tiles.height(g.N))
	for n := 0; n < g.N; n += nr {
		t.b = unsafe.Pointer(&g.B[n])
		if g.Bias != nil {
			t.bias = unsafe.Pointer(&g.Bias[n])
		}
		for p, m := 0, 0; p < panels; p++ {
			rows := (g.M - m + panels - p - 1) / (panels - p)
			at := m*g.LDC + n
			t.a, t.c = unsafe.Pointer(&g.A[m*step]), unsafe.Pointer(&g.C[at])
			if g.Beta != 0 {
				t.old = t.c
			}
			tiles.tile(t, rows, min(nr, g.N-n))
			m += rows
		}
	}
	recycleTile(t)
	return true
}

// width returns the columns of a tile of a product of m rows.
func (s *tileSet) width(m int) int {
	if m <= 2 {
		return s.widest * s.lanes
	}
	return 2 * s.lanes
}
