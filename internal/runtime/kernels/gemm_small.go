package kernels

import "unsafe"

// smallProduct is the largest M*N*K of a product that is done directly, without a plan.
const smallProduct = 1 << 21

// smallGemm is a product whose operands fit the L1 cache unpacked. Below some thousand multiplications a plan would cost more than
// the product, and operands that are read only a few times are not worth a copy.
type smallGemm[T Float] struct {
	tiles *tileSet
	per   int // k in a vector of the last columns; 0 if these are an ordinary vector
	strip []T // B's last columns, packed
}

// gemmSmall does a product if it is small, and reports whether it was.
func gemmSmall[T Float](g *GemmArgs[T], parallel bool) bool {
	if g.M*g.N*g.K > smallProduct || g.TransB || g.K*g.LDB*int(unsafe.Sizeof(g.Alpha)) > compactB || g.K == 0 || g.K > blockK ||
		g.Alpha == 0 || (g.Beta != 0 && g.Beta != 1) || g.N == 1 {
		return false
	}
	s := smallGemm[T]{tiles: tilesFor[T](ActiveLevel())}
	s.per = s.folded(g)
	if s.per == 0 && !parallel {
		s.rows(g, 0, g.M)
		return true
	}
	buf := scratches[T]().get()
	s.packFold(g, buf)
	if parallel {
		s.parallel(g)
	} else {
		s.rows(g, 0, g.M)
	}
	scratches[T]().put(buf)
	return true
}

// parallel does the rows on all workers.
func (s *smallGemm[T]) parallel(g *GemmArgs[T]) {
	j := gemmJobs[T]().get()
	j.GemmArgs, j.small, j.phase = *g, *s, smallPhase
	threads := Threads()
	j.mTasks = ceilDiv(min(threads*chunksEach, ceilDiv(j.M, s.tiles.rows)), threads) * threads // the same number for each thread
	parallelEach(j.mTasks, j)
	j.GemmArgs, j.small = GemmArgs[T]{}, smallGemm[T]{}
	gemmJobs[T]().put(j)
}

// rows computes rows [lo, hi) of C.
func (s *smallGemm[T]) rows(g *GemmArgs[T], lo, hi int) {
	size := int(unsafe.Sizeof(g.Alpha))
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
	whole := g.N
	if s.per > 0 {
		whole -= g.N % s.tiles.lanes
	}
	for n, cols := 0, 0; n < whole; n += cols {
		cols = s.tiles.strip(g.M, whole-n)
		t.b = unsafe.Pointer(&g.B[n])
		if g.Bias != nil {
			t.bias = unsafe.Pointer(&g.Bias[n])
		}
		each, higher := hi-lo, 0 // rows of a panel; number of panels that have one more
		if h := s.tiles.height(cols); each > h {
			panels := ceilDiv(each, h)
			each, higher = each/panels, each%panels
		}
		for m := lo; m < hi; higher-- {
			rows := each
			if higher > 0 {
				rows++
			}
			place(&t, g, m*step, m*g.LDC+n)
			s.tiles.tile(&t, rows, cols)
			m += rows
		}
	}
	if s.per > 0 {
		s.lastColumns(&t, g, lo, hi)
	}
}

// lastColumns computes rows [lo, hi) of the columns that do not fill a vector, from their packed copy.
func (s *smallGemm[T]) lastColumns(t *tileArgs, g *GemmArgs[T], lo, hi int) {
	n := g.N - g.N%s.tiles.lanes
	t.b = unsafe.Pointer(&s.strip[0])
	if g.Bias != nil {
		t.bias = unsafe.Pointer(&g.Bias[n])
	}
	for m := lo; m < hi; m += s.tiles.rows {
		place(t, g, m*g.LDA, m*g.LDC+n)
		s.tiles.foldTile(t, min(s.tiles.rows, hi-m), g.N-n, s.per)
	}
}

// place points a tile at A[a] and C[c].
func place[T Float](t *tileArgs, g *GemmArgs[T], a, c int) {
	t.a, t.c = unsafe.Pointer(&g.A[a]), unsafe.Pointer(&g.C[c])
	if g.Beta != 0 {
		t.old = t.c
	}
}

// worthFolding is the least M*K for which packing the last columns of B pays.
const worthFolding = 1 << 10

// folded returns the number of k in a vector of the last columns, or 0 if folding does not pay. Like the sums, it depends only on
// the sizes.
func (s *smallGemm[T]) folded(g *GemmArgs[T]) int {
	if s.tiles.folds == nil || g.TransA || g.M <= 2 || g.M*g.K < worthFolding {
		return 0
	}
	switch cols := g.N % s.tiles.lanes; {
	case cols == 0 || cols > s.tiles.lanes/2:
		return 0
	case cols > s.tiles.lanes/4:
		return 2
	default:
		return 4
	}
}

// packFold copies the last columns of B to vectors of per successive k for each column.
func (s *smallGemm[T]) packFold(g *GemmArgs[T], buf *scratch[T]) {
	if s.per == 0 {
		return
	}
	lanes, cols := s.tiles.lanes, g.N%s.tiles.lanes
	s.strip = buf.take(ceilDiv(g.K, s.per) * lanes)
	b, whole := g.B[g.N-cols:], g.K/s.per
	if whole > 0 {
		s.tiles.packFold(s.per, foldRows{whole, g.LDB * int(unsafe.Sizeof(g.Alpha)), cols}, unsafe.Pointer(&s.strip[0]), unsafe.Pointer(&b[0]))
	}
	if rest := g.K % s.per; rest > 0 {
		dst := s.strip[whole*lanes:][:lanes]
		clear(dst)
		for i := range rest {
			for c, v := range b[(whole*s.per+i)*g.LDB:][:cols] {
				dst[c*s.per+i] = v
			}
		}
	}
}

// strip returns the columns of the next strip of a small product of m rows with left columns left. Strips of three and four
// vectors read A less often, and keep the multipliers busy where a last vector by itself could not.
func (s *tileSet) strip(m, left int) int {
	if m <= 2 || s.deep[0] == 0 {
		return min(s.width(m), left)
	}
	switch s.vectors(left) {
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
