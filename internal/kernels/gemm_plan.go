package kernels

import "unsafe"

// Blocking, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008): a strip of B stays in
// the L1 cache while the panels of a task, which stay in the L2 cache, go by. Figures measured on Zen 5.
const (
	blockK      = 512      // longest run of k in one tile
	blockN      = 2048     // columns of B packed at a time
	groupPanels = 16       // most panels of A in one task
	splitPanels = 4        // panels of A that make a task of their own worth while
	compactB    = 40 << 10 // bytes of B, what lies between rows included, that stay in the L1 cache as they are
	copyStrips  = 8        // A of awkward distance between rows is copied when a task has so many strips of B
	sharedTasks = 3        // groups of rows from which all use one packed copy of cold B
	coldB       = 1 << 20  // elements of B from which it comes from memory rather than from the L2 cache
	directStrip = 2        // transposed A is used in place when a task has at most so many strips of B
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
	tiles  *tileSet
	packed *PackedB[T] // nil, or B
	add    []T         // nil, or what to add to the result

	panels         int // panels of A, of balanced heights
	nr             int // columns of a tile
	nc, kc         int // columns and k of a block
	n0, n1, k0, k1 int // the block in work
	mTasks, nTasks int
	directA        bool
	backward       bool // strips of B go from the last to the first
	sourceB        sourceB
	phase          gemmPhase
	spaceB         scratch[T]
	bufB           []T
}

// sourceB is where tiles read B.
type sourceB int

const (
	inPlace  sourceB = iota
	prepared         // PackedB
	perTask          // each task packs a strip as its first panel goes by
	perStrip         // each task packs a strip before its first panel
	shared           // packed for all tasks before they start
)

func (j *gemmJob[T]) plan(parallel bool) {
	j.setTiles()
	j.kc = ceilDiv(j.K, ceilDiv(j.K, blockK))
	if j.streams() {
		j.kc = j.K
	}
	j.panels = ceilDiv(j.M, j.tallest())
	j.nc = ceilDiv(ceilDiv(j.N, ceilDiv(j.N, blockN)), j.nr) * j.nr
	strips := ceilDiv(min(j.nc, j.N), j.nr)
	j.split(strips, parallel)
	j.directA = j.placeA(ceilDiv(strips, j.nTasks))
	switch {
	case j.packed != nil:
		j.sourceB = prepared
	case !j.TransB && (j.M <= 2 || j.LDB == j.nr || j.kc*j.LDB*int(unsafe.Sizeof(j.Alpha)) <= compactB):
		j.sourceB = inPlace
	case !j.TransB && j.K*j.N >= coldB && j.mTasks < sharedTasks:
		j.sourceB = perStrip
	case !j.TransB && j.K*j.N < coldB:
		j.sourceB = perTask
	default:
		j.sourceB = shared
		j.bufB = j.spaceB.take(j.nc * j.kc)
	}
}

// tallest returns the most rows of a panel. Only kernels that do not pack are made for more than two vectors have.
func (j *gemmJob[T]) tallest() int {
	if j.TransA || (j.packed == nil && j.kc*j.LDB*int(unsafe.Sizeof(j.Alpha)) > compactB) {
		return j.tiles.rows
	}
	return j.tiles.height(min(j.N, j.nr))
}

// placeA reports whether tasks of so many strips of B read A in place. Rows a multiple of 4096 bytes apart share one set of
// lines of the L1 cache, which is worth a copy only where it is read often. What streams has too few rows to copy any.
func (j *gemmJob[T]) placeA(strips int) bool {
	if j.streams() {
		return true
	}
	if j.TransA || j.LDA*int(unsafe.Sizeof(j.Alpha))%4096 != 0 {
		return !j.TransA || strips <= directStrip
	}
	return strips < copyStrips
}

// split cuts a block into tasks: by rows where there are many, because then A is packed once.
func (j *gemmJob[T]) split(strips int, parallel bool) {
	j.mTasks, j.nTasks = ceilDiv(j.panels, groupPanels), 1
	threads := Threads()
	if !parallel || threads == 1 {
		return
	}
	want := threads * chunksEach
	if j.panels >= want*splitPanels {
		j.mTasks = max(j.mTasks, want)
		return
	}
	j.nTasks = min(ceilDiv(want, j.mTasks), strips)
	j.mTasks = min(max(j.mTasks, ceilDiv(want, j.nTasks)), j.panels)
}

// setTiles chooses the micro-kernels and their width.
func (j *gemmJob[T]) setTiles() {
	if j.packed != nil {
		j.tiles, j.nr = j.packed.tiles, j.packed.stripWidth()
		return
	}
	j.tiles = tilesFor[T](ActiveLevel())
	j.nr = j.tiles.width(j.M)
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

// Run implements Task: strips of B to pack, tasks of the product, or rows of B to multiply by a vector.
func (j *gemmJob[T]) Run(lo, hi int) {
	switch j.phase {
	case packPhase:
		for p := lo; p < hi; p++ {
			n := j.n0 + p*j.nr
			j.packB(j.bufB[p*j.nr*(j.k1-j.k0):], n, min(j.nr, j.n1-n))
		}
		return
	case dotPhase:
		j.dots(lo, hi)
		return
	}
	buf := scratches[T]().get()
	var t tileArgs
	for i := lo; i < hi; i++ {
		if j.streams() {
			j.streamTask(i, &t)
		} else {
			j.task(i, &t, buf)
		}
	}
	scratches[T]().put(buf)
}

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
	j.setup(t)
	panels, strip := j.packPanels(buf, p0, p1)
	for n := n0; n < n1; n += j.nr {
		cols := min(j.nr, n1-n)
		j.stripB(t, n)
		switch j.sourceB {
		case perTask:
			t.strip = unsafe.Pointer(&strip[0])
		case perStrip:
			copyRows(strip, j.nr, j.B[j.k0*j.LDB+n:], j.LDB, cols, j.k1-j.k0)
			t.b, t.bK = unsafe.Pointer(&strip[0]), j.nr*int(unsafe.Sizeof(j.Alpha))
		}
		for p := p0; p < p1; p++ {
			m0, m1 := j.panel(p)
			if j.directA {
				t.a = unsafe.Pointer(&j.A[j.indexA(m0)])
			} else {
				t.a = unsafe.Pointer(&panels[(p-p0)*j.panelSize()])
			}
			j.target(t, m0, n)
			if p > p0 || j.sourceB != perTask {
				j.tiles.tile(t, m1-m0, cols)
				continue
			}
			j.tiles.packingTile(t, m1-m0, cols)
			t.b, t.bK = t.strip, ceilDiv(cols, j.tiles.lanes)*j.tiles.lanes*int(unsafe.Sizeof(j.Alpha))
		}
	}
}

// panelSize is the elements of a packed panel of A.
func (j *gemmJob[T]) panelSize() int { return (j.k1 - j.k0) * j.tiles.pad }

// packPanels packs panels of A where that pays, and finds room for a strip of B where tasks pack their own.
func (j *gemmJob[T]) packPanels(buf *scratch[T], p0, p1 int) (panels, strip []T) {
	size, room := 0, 0
	if !j.directA {
		size = (p1 - p0) * j.panelSize()
	}
	if j.sourceB == perTask || j.sourceB == perStrip {
		room = j.nr * (j.k1 - j.k0)
	}
	all := buf.take(size + room)
	for p := p0; p < p1 && size > 0; p++ {
		j.packA(all[(p-p0)*j.panelSize():], p)
	}
	return all[:size], all[size:]
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
	case j.TransA && j.directA:
		t.aRow, t.aK = size, j.LDA*size
	case j.TransA:
		t.aRow, t.aK = size, j.tiles.pad*size
	case j.directA:
		t.aRow, t.aK = j.LDA*size, size
	default:
		t.aRow, t.aK = (j.k1-j.k0)*size, size
	}
	t.cRow = j.LDC * size
	t.k, t.runs = j.k1-j.k0, 1
	t.alpha = floatBits(j.Alpha)
	t.relu = 0
	if j.Relu && j.k1 == j.K {
		t.relu = 1
	}
}

// stripB points a tile at the strip of B that starts at column n.
func (j *gemmJob[T]) stripB(t *tileArgs, n int) {
	ld := j.nr
	switch j.sourceB {
	case prepared:
		strip, wide, _ := j.packed.strip(n)
		t.b, ld = unsafe.Pointer(&strip[j.k0*wide]), wide
	case shared:
		t.b = unsafe.Pointer(&j.bufB[(n-j.n0)*(j.k1-j.k0)])
	default:
		t.b, ld = unsafe.Pointer(&j.B[j.k0*j.LDB+n]), j.LDB
	}
	t.bK = ld * int(unsafe.Sizeof(j.Alpha))
}

// target points a tile at C[m, n] and at what to add to it.
func (j *gemmJob[T]) target(t *tileArgs, m, n int) {
	at := m*j.LDC + n
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
}
