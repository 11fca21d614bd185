package kernels

import "unsafe"

// Blocking, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008): a strip of B stays in
// the L1 cache while the panels of a task, which stay in the L2 cache, go by. Figures measured on Zen 5.
const (
	blockK      = 512      // longest run of k in one tile
	streamK     = 1 << 13  // the same where packed B is gone over once: what one call of assembly reads
	blockN      = 2048     // columns of B packed at a time
	groupPanels = 16       // most panels of A in one task
	splitPanels = 4        // panels of A that make a task of their own worth while
	compactB    = 40 << 10 // bytes of B, what lies between rows included, that stay in the L1 cache as they are
	copyStrips  = 8        // A of awkward distance between rows is copied when a task has so many strips of B
	sharedTasks = 3        // groups of rows from which all use one packed copy of cold B
	coldB       = 1 << 20  // elements of B from which it comes from memory rather than from the L2 cache
	directStrip = 2        // transposed A is used in place when a task has at most so many strips of B
	ownRows     = 96       // rows of A for each thread from which threads share none with packed B: what another core has written is slow to read
)

type gemmPhase int

const (
	packPhase gemmPhase = iota
	spreadPhase
	multiplyPhase
	dotPhase
	smallPhase
)

// block is a part of a product: columns [n0, n1) of C, sums over [k0, k1).
type block struct{ n0, n1, k0, k1 int }

// gemmJob is one product in progress and its buffers, which outlive it.
type gemmJob[T Float] struct {
	GemmArgs[T]
	tiles  *tileSet
	packed *PackedB[T] // nil, or B
	scale  []T         // nil, or what columns are multiplied by
	add    []T         // nil, or what to add to the result

	panels         int // panels of A, of balanced heights
	height, higher int // of a panel; the panels that are one row higher
	nr             int // columns of a tile
	nc, kc         int // columns and k of a block
	ks             int // k of a phase, in blocks of kc
	work           block
	mTasks, nTasks int
	directA        bool
	backward       bool // strips of B go from the last to the first
	sourceB        sourceB
	phase          gemmPhase
	spaceB         scratch[T]
	bufB           []T
	spaceA         scratch[T]
	bufA           []T // A whose rows lie spreadLD elements apart
	spreadLD       int
	small          smallGemm[T]
}

// sourceB is where tiles read B.
type sourceB int

const (
	inPlace    sourceB = iota
	prepared           // PackedB
	fromHalves         // a strip of a PackedB of 16-bit numbers, which each task makes float32
	perTask            // each task packs a strip as its first panel goes by
	perStrip           // each task packs a strip before its first panel
	shared             // packed for all tasks before they start
)

func (j *gemmJob[T]) plan(parallel bool) {
	j.setTiles()
	longest := blockK
	if j.streams() {
		longest = streamK
	}
	j.kc = ceilDiv(j.K, ceilDiv(j.K, longest))
	j.panels = ceilDiv(j.M, j.tallest())
	j.height, j.higher = j.M/j.panels, j.M%j.panels
	j.nc = ceilDiv(ceilDiv(j.N, ceilDiv(j.N, blockN)), j.nr) * j.nr
	j.ks = j.K
	strips := ceilDiv(min(j.nc, j.N), j.nr)
	j.split(strips, parallel)
	j.directA = j.placeA(ceilDiv(strips, j.nTasks))
	switch {
	case j.widens():
		j.sourceB = fromHalves
	case j.packed != nil:
		j.sourceB = prepared
		if j.streams() {
			j.ks = j.kc
		}
	case !j.TransB && (j.M <= 2 || j.LDB == j.nr || j.kc*j.LDB*int(unsafe.Sizeof(j.Alpha)) <= compactB):
		j.sourceB = inPlace
	case !j.TransB && j.K*j.N >= coldB && j.mTasks < sharedTasks:
		j.sourceB = perStrip
	case !j.TransB && j.K*j.N < coldB:
		j.sourceB = perTask
	default:
		j.sourceB = shared
		j.ks = j.kc
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
		if j.TransB || j.K*j.N >= coldB {
			want *= 2 // tasks that pack nothing of B cost no more when they are short
		}
		j.mTasks = ceilDiv(j.mTasks, want) * want // as many for each thread
		return
	}
	if j.packed != nil && j.M >= threads*ownRows {
		j.mTasks = ceilDiv(j.mTasks, threads) * threads
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
	from = p*j.height + min(p, j.higher)
	to = from + j.height
	if p < j.higher {
		to++
	}
	return from, to
}

// Run implements Task: strips of B to pack, panels of A to copy, tasks of the product, rows of B to multiply by a vector, or rows of a
// small product.
func (j *gemmJob[T]) Run(lo, hi int) {
	switch j.phase {
	case packPhase:
		j.packStrips(lo, hi)
		return
	case spreadPhase:
		j.spreadPanels(lo, hi)
		return
	case dotPhase:
		j.dots(lo, hi)
		return
	case smallPhase:
		j.small.rows(&j.GemmArgs, lo*j.M/j.mTasks, hi*j.M/j.mTasks)
		return
	}
	buf := scratches[T]().get()
	var t tileArgs
	for i := lo; i < hi; i++ {
		if j.streams() {
			j.streamTask(i, &t)
		} else {
			j.multiplyTask(i, &t, buf)
		}
	}
	scratches[T]().put(buf)
}

// multiplyTask multiplies one group of panels of A by one range of columns of B, over all k of the phase: this much of C
// stays in the caches.
func (j *gemmJob[T]) multiplyTask(i int, t *tileArgs, buf *scratch[T]) {
	m, n := i/j.nTasks, i%j.nTasks
	p0, p1 := m*j.panels/j.mTasks, (m+1)*j.panels/j.mTasks
	w := j.work
	strips := ceilDiv(w.n1-w.n0, j.nr)
	part := gemmPart[T]{j, w}
	part.n0 = w.n0 + n*strips/j.nTasks*j.nr
	part.n1 = min(w.n0+(n+1)*strips/j.nTasks*j.nr, w.n1)
	if part.n0 >= part.n1 {
		return // a last block of fewer strips than tasks
	}
	for k := w.k0; k < w.k1; k += j.kc {
		part.k0, part.k1 = k, min(k+j.kc, w.k1)
		part.multiply(t, buf, p0, p1)
	}
}
