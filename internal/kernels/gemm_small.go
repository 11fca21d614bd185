package kernels

import "unsafe"

// smallProduct is the most M*N*K of a product that is done at once, without a plan.
const smallProduct = 1 << 20

// gemmSmall does a product whose operands fit into the L1 cache as they are, and reports whether this was one: below
// some thousand multiplications a plan would cost more than the product, and nothing that is read so few times is worth a
// copy. The sums are those of a plan: a product of many threads' worth may go either way.
func gemmSmall[T Float](g *GemmArgs[T]) bool {
	size := int(unsafe.Sizeof(T(0)))
	if g.M*g.N*g.K > smallProduct || g.TransB || g.K*g.LDB*size > compactB || g.K == 0 || g.K > blockK || g.Alpha == 0 ||
		(g.Beta != 0 && g.Beta != 1) || g.N == 1 {
		return false
	}
	tiles := tilesFor[T](ActiveLevel())
	var t tileArgs
	t.aRow, t.aK, t.bK, t.cRow = g.LDA*size, size, g.LDB*size, g.LDC*size
	step := g.LDA // elements of A between rows of op(A)
	if g.TransA {
		t.aRow, t.aK, step = size, t.aRow, 1
	}
	t.k, t.runs, t.alpha = g.K, 1, floatBits(g.Alpha)
	if g.Relu {
		t.relu = 1
	}
	for n, cols := 0, 0; n < g.N; n += cols {
		cols = tiles.strip(g.M, g.N-n)
		t.b = unsafe.Pointer(&g.B[n])
		if g.Bias != nil {
			t.bias = unsafe.Pointer(&g.Bias[n])
		}
		panels := ceilDiv(g.M, tiles.height(cols))
		for p, m := 0, 0; p < panels; p++ {
			rows := (g.M - m + panels - p - 1) / (panels - p)
			at := m*g.LDC + n
			t.a, t.c = unsafe.Pointer(&g.A[m*step]), unsafe.Pointer(&g.C[at])
			if g.Beta != 0 {
				t.old = t.c
			}
			tiles.tile(&t, rows, cols)
			m += rows
		}
	}
	return true
}

// strip returns the columns of the next strip of a small product of m rows of which so many columns are left. Strips of
// three and four vectors go over A less often, and keep the multipliers busy where a last vector by itself could not.
func (s *tileSet) strip(m, left int) int {
	if m <= 2 || s.deep[0] == 0 {
		return min(s.width(m), left)
	}
	switch vectors := ceilDiv(left, s.lanes); vectors {
	case 1, 2, 3, 4:
		return left
	case 5:
		return 3 * s.lanes
	default:
		return 4 * s.lanes
	}
}

// width returns the columns of a tile of a product of m rows.
func (s *tileSet) width(m int) int {
	if m <= 2 {
		return s.widest * s.lanes
	}
	return 2 * s.lanes
}
