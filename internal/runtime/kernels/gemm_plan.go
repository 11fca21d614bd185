package kernels

import "unsafe"

// Blocking, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008): a strip of B stays in the L1
// cache while it is multiplied by a task's panels, which stay in the L2 cache. The numbers were measured on Zen 5.
const (
	blockK      = 512      // most k of a tile
	streamK     = 1 << 13  // likewise if packed B is read once: the bound of one call of assembly
	blockN      = 2048     // columns of B packed at a time
	groupPanels = 16       // most panels of A in one task
	splitPanels = 4        // least panels of A that are worth a task of their own
	compactB    = 40 << 10 // most bytes of B, gaps between rows included, that stay in the L1 cache unpacked
	copyStrips  = 8        // strips of B in a task from which A is copied if the distance between its rows is bad for the cache
	sharedTasks = 3        // groups of rows from which all share one packed copy of cold B
	coldB       = 1 << 20  // elements of B from which it comes from memory instead of the L2 cache
	directStrip = 2        // most strips of B in a task with which transposed A is used in place
	ownRows     = 96       // rows of A per thread from which, with packed B, threads share no rows: data that another core has written is slow to read
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
	scale  []T         // nil, or factors of the columns
	add    []T         // nil, or values to add to the result

	panels         int // panels of A, with balanced heights
	height, higher int // height of a panel; number of panels that are one row higher
	nr             int // columns of a tile
	nc, kc         int // columns and k of a block
	ks             int // k of a phase, done in blocks of kc
	work           block
	mTasks, nTasks int
	directA        bool
	backward       bool // strips of B go from the last to the first
	sourceB        sourceB
	phase          gemmPhase
	spaceB         scratch[T]
	bufB           []T
	spaceA         scratch[T]
	bufA           []T // copy of A with rows spreadLD elements apart
	spreadLD       int
	small          smallGemm[T]
}

// sourceB says where tiles read B.
type sourceB int

const (
	inPlace    sourceB = iota
	prepared           // PackedB
	fromHalves         // a strip of a PackedB of 16-bit numbers, which each task converts to float32
	perTask            // each task packs a strip during its first panel
	perStrip           // each task packs a strip before its first panel
	shared             // packed once for all tasks before they start
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

// tallest returns the most rows of a panel. Tiles higher than those for two vectors exist only for kernels that do not pack.
func (j *gemmJob[T]) tallest() int {
	if j.TransA || (j.packed == nil && j.kc*j.LDB*int(unsafe.Sizeof(j.Alpha)) > compactB) {
		return j.tiles.rows
	}
	return j.tiles.height(min(j.N, j.nr))
}

// placeA reports whether tasks with that many strips of B read A in place. Rows that are a multiple of 4096 bytes apart share one
// set of lines of the L1 cache, so A is copied if it is read often. Products that stream have too few rows for a copy.
func (j *gemmJob[T]) placeA(strips int) bool {
	if j.streams() {
		return true
	}
	if j.TransA || j.LDA*int(unsafe.Sizeof(j.Alpha))%4096 != 0 {
		return !j.TransA || strips <= directStrip
	}
	return strips < copyStrips
}

// split cuts a block into tasks: by rows if there are many, because then A is packed once.
func (j *gemmJob[T]) split(strips int, parallel bool) {
	j.mTasks, j.nTasks = ceilDiv(j.panels, groupPanels), 1
	threads := Threads()
	if !parallel || threads == 1 {
		return
	}
	want := threads * chunksEach
	if j.panels >= want*splitPanels {
		if j.TransB || j.K*j.N >= coldB {
			want *= 2 // short tasks cost no more if they do not pack B
		}
		j.mTasks = ceilDiv(j.mTasks, want) * want // the same number for each thread
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

// panel returns the rows of panel p. The heights of panels differ by at most one, so that no tile is nearly empty.
func (j *gemmJob[T]) panel(p int) (from, to int) {
	from = p*j.height + min(p, j.higher)
	to = from + j.height
	if p < j.higher {
		to++
	}
	return from, to
}

// Run implements Task over strips of B to pack, panels of A to copy, tasks of the product, rows of B to multiply by a vector, or rows
// of a small product.
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

// multiplyTask multiplies one group of panels of A by one range of columns of B, over all k of the phase. This part of C stays in
// the caches.
func (j *gemmJob[T]) multiplyTask(i int, t *tileArgs, buf *scratch[T]) {
	m, n := i/j.nTasks, i%j.nTasks
	p0, p1 := m*j.panels/j.mTasks, (m+1)*j.panels/j.mTasks
	w := j.work
	strips := ceilDiv(w.n1-w.n0, j.nr)
	part := gemmPart[T]{j, w}
	part.n0 = w.n0 + n*strips/j.nTasks*j.nr
	part.n1 = min(w.n0+(n+1)*strips/j.nTasks*j.nr, w.n1)
	if part.n0 >= part.n1 {
		return // the last block may have fewer strips than tasks
	}
	for k := w.k0; k < w.k1; k += j.kc {
		part.k0, part.k1 = k, min(k+j.kc, w.k1)
		part.multiply(t, buf, p0, p1)
	}
}
