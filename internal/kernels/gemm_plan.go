package kernels

import "unsafe"

// Blocking, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), with figures
// measured on Zen 4: a panel of A stays in the L1 cache, a strip of B in the L2 cache.
const (
	blockK         = 512  // longest run of k in one tile
	blockN         = 2048 // columns of B packed at a time
	groupPanels    = 8    // panels of A in one task
	stripColumns   = 128  // columns of B that a task goes through at a time
	directBRows    = 140  // B is used in place when A has at most so many rows
	directAColumns = 128  // A is used in place when a task has at most so many columns
	directTColumns = 256  // the same for transposed A, whose rows lie together
)

type gemmPhase int

const (
	packPhase gemmPhase = iota
	multiplyPhase
	dotPhase
)

// gemmJob is one product in progress and its buffers, which outlive it.
type gemmJob[T Float] struct {
	GemmArgs[T]
	tiles  tileSet
	packed *PackedB[T] // nil, or B
	add    []T         // nil, or what to add to the result

	panels         int // panels of A, of balanced heights
	nr             int // columns of a tile
	nc, kc         int // columns and k of a block
	n0, n1, k0, k1 int // the block in work
	mTasks, nTasks int
	directA        bool
	directB        bool
	phase          gemmPhase
	spaceB         scratch[T]
	bufB           []T
}

func (j *gemmJob[T]) plan(parallel bool) {
	j.setTiles()
	j.panels = ceilDiv(j.M, j.tiles.rows)
	j.kc = ceilDiv(j.K, ceilDiv(j.K, blockK))
	j.nc = ceilDiv(ceilDiv(j.N, ceilDiv(j.N, blockN)), j.nr) * j.nr
	threads := 1
	if parallel {
		threads = Threads()
	}
	strips := ceilDiv(min(j.nc, j.N), j.nr)
	j.mTasks = ceilDiv(j.panels, groupPanels)
	j.nTasks = 1
	if want := threads * chunksEach; threads > 1 && j.mTasks < want {
		j.nTasks = min(ceilDiv(want, j.mTasks), ceilDiv(strips*j.nr, stripColumns))
		j.mTasks = min(max(j.mTasks, ceilDiv(want, j.nTasks)), j.panels)
	}
	taskColumns := ceilDiv(strips, j.nTasks) * j.nr
	j.directB = !j.TransB && j.M <= directBRows
	switch {
	case j.TransA:
		j.directA = taskColumns <= directTColumns
	default:
		j.directA = taskColumns <= directAColumns || j.M/j.panels < transposeRows
	}
	if !j.directB && j.packed == nil {
		j.bufB = j.spaceB.take(j.nc * j.kc)
	}
}

// setTiles chooses the micro-kernels and their width.
func (j *gemmJob[T]) setTiles() {
	if j.packed != nil {
		j.tiles, j.nr = j.packed.tiles, j.packed.stripWidth()
		return
	}
	j.tiles = tilesFor[T](ActiveLevel())
	j.nr = 2 * j.tiles.lanes
	if j.M <= 2 {
		j.nr = j.tiles.widest * j.tiles.lanes
	}
}

// panel returns the rows of panel p: the panels' heights differ by one at most, so that no tile is nearly empty.
func (j *gemmJob[T]) panel(p int) (from, to int) {
	base, extra := j.M/j.panels, j.M%j.panels
	from = p*base + min(p, extra)
	to = from + base
	if p < extra {
		to++
	}
	return from, to
}

// Run implements Task: panels of B to pack, tasks of the product, or rows of B to multiply by a vector.
func (j *gemmJob[T]) Run(lo, hi int) {
	switch j.phase {
	case packPhase:
		for p := lo; p < hi; p++ {
			j.packB(p)
		}
		return
	case dotPhase:
		j.dots(lo, hi)
		return
	}
	buf := scratches[T]().get()
	t := tileArgsFree.get()
	for i := lo; i < hi; i++ {
		j.task(i, t, buf)
	}
	*t = tileArgs{}
	tileArgsFree.put(t)
	scratches[T]().put(buf)
}

var tileArgsFree freelist[tileArgs]

// task multiplies one group of panels of A by one range of columns of the block of B.
func (j *gemmJob[T]) task(i int, t *tileArgs, buf *scratch[T]) {
	m, n := i/j.nTasks, i%j.nTasks
	p0, p1 := m*j.panels/j.mTasks, (m+1)*j.panels/j.mTasks
	strips := ceilDiv(j.n1-j.n0, j.nr)
	n0 := j.n0 + n*strips/j.nTasks*j.nr
	n1 := min(j.n0+(n+1)*strips/j.nTasks*j.nr, j.n1)
	if p0 == p1 || n0 >= n1 {
		return
	}
	var packed []T
	panelSize := (j.k1 - j.k0) * j.tiles.pad
	if !j.directA {
		packed = buf.take((p1 - p0) * panelSize)
		for p := p0; p < p1; p++ {
			j.packA(packed[(p-p0)*panelSize:], p)
		}
	}
	j.setup(t)
	for from := n0; from < n1; from += stripColumns {
		to := min(from+stripColumns, n1)
		for p := p0; p < p1; p++ {
			m0, m1 := j.panel(p)
			if j.directA {
				t.a = unsafe.Pointer(&j.A[j.indexA(m0)])
			} else {
				t.a = unsafe.Pointer(&packed[(p-p0)*panelSize])
			}
			j.row(t, m0, m1, from, to)
		}
	}
}

// indexA is where op(A)[m, k0] lies in A.
func (j *gemmJob[T]) indexA(m int) int {
	if j.TransA {
		return j.k0*j.LDA + m
	}
	return m*j.LDA + j.k0
}

// setup fills in what is the same for every tile of a task.
func (j *gemmJob[T]) setup(t *tileArgs) {
	size := int(unsafe.Sizeof(j.Alpha))
	switch {
	case !j.directA:
		t.aRow, t.aK = size, j.tiles.pad*size
	case j.TransA:
		t.aRow, t.aK = size, j.LDA*size
	default:
		t.aRow, t.aK = j.LDA*size, size
	}
	t.bK = j.nr * size
	if j.directB {
		t.bK = j.LDB * size
	}
	t.cRow = j.LDC * size
	t.k, t.runs = j.k1-j.k0, 1
	t.alpha = floatBits(j.Alpha)
	t.relu = 0
	if j.Relu && j.k1 == j.K {
		t.relu = 1
	}
}

// row does the tiles of one panel over the columns [n0, n1).
func (j *gemmJob[T]) row(t *tileArgs, m0, m1, n0, n1 int) {
	for n := n0; n < n1; n += j.nr {
		cols := min(j.nr, n1-n)
		switch {
		case j.packed != nil:
			strip, ld, _ := j.packed.strip(n)
			t.b, t.bK = unsafe.Pointer(&strip[j.k0*ld]), ld*int(unsafe.Sizeof(j.Alpha))
		case j.directB:
			t.b = unsafe.Pointer(&j.B[j.k0*j.LDB+n])
		default:
			t.b = unsafe.Pointer(&j.bufB[(n-j.n0)*t.k])
		}
		at := m0*j.LDC + n
		t.c, t.old, t.bias = unsafe.Pointer(&j.C[at]), nil, nil
		switch {
		case j.k0 > 0 || j.Beta != 0:
			t.old = t.c
		case j.add != nil:
			t.old = unsafe.Pointer(&j.add[at])
		}
		if j.Bias != nil && j.k1 == j.K {
			t.bias = unsafe.Pointer(&j.Bias[n])
		}
		j.tiles.tile(t, m1-m0, cols)
	}
}
