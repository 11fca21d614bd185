package kernels

import (
	"encoding/binary"
	"unsafe"
)

// ByteProduct is a product of matrices of 8-bit integers, (A - ZeroA) * (B - ZeroB), in 32-bit sums that wrap around.
type ByteProduct struct {
	M       int
	A       []byte // [M, k of B], rows LDA elements apart: int8 if SignedA, else uint8
	LDA     int
	SignedA bool
	ZeroA   int32
	B       *PackedBytes
	ZeroB   []int32 // nil for zeros, one number, or one for each column
	ByteResult
}

// ByteResult says how sums become results, and where these are stored: [M, n of B] without gaps between rows. One of Ints, Floats
// and Bytes is set.
type ByteResult struct {
	Bias []int32 // nil, or an addend of the sums for each column

	Ints []int32 // the sums

	Floats []float32 // the sums as floats times Scale, plus Add
	Scale  []float32 // one number, or one for each column
	Add    []float32 // nil, or one for each column

	Bytes  []byte // the floats rounded to nearest, ties to even, plus Zero, clamped to the type's limits
	Zero   int32
	Signed bool // Bytes are int8, else uint8
}

// kind returns the kind of result.
func (r *ByteResult) kind() resultKind {
	switch {
	case r.Bytes != nil:
		return byteResult
	case r.Floats != nil:
		return floatResult
	default:
		return intResult
	}
}

// check panics if a slice is too short for a result of m rows and n columns.
func (r *ByteResult) check(m, n int) {
	switch r.kind() {
	case byteResult:
		_ = r.Bytes[:m*n]
	case floatResult:
		_ = r.Floats[:m*n]
	default:
		_ = r.Ints[:m*n]
	}
	if r.kind() != intResult && len(r.Scale) != 1 {
		_ = r.Scale[:n]
	}
	if r.Bias != nil {
		_ = r.Bias[:n]
	}
	if r.Add != nil {
		_ = r.Add[:n]
	}
}

// MultiplyBytes computes the product on as many workers as pays.
func MultiplyBytes(g ByteProduct) {
	b := g.B
	checkRows(len(g.A), g.M, b.k, g.LDA)
	if g.M == 0 || b.n == 0 {
		return
	}
	g.check(g.M, b.n)
	if len(g.ZeroB) > 1 {
		_ = g.ZeroB[:b.n]
	}
	j := byteJobs.get()
	j.ByteProduct = g
	j.prepare()
	from := bytesParallelFrom
	if g.M <= 2 {
		from = streamBytesFrom
	}
	j.split(g.M*b.n*b.k >= from)
	if j.mTasks*j.nTasks == 1 {
		j.Run(0, 1)
	} else {
		parallelEach(j.mTasks*j.nTasks, j)
	}
	j.ByteProduct = ByteProduct{}
	byteJobs.put(j)
}

const (
	bytesParallelFrom = 4 * gemmParallelFrom
	streamBytesFrom   = 4 * streamParallelFrom
)

// byteJob is one product in progress and its buffers, which outlive it.
type byteJob struct {
	ByteProduct
	tiles *byteTileSet

	add     []int32   // for each column: its bias plus the term of A's zero point
	zeros   []int32   // zero point of each column of packed B
	rowwise bool      // B has zero points, so sums of A's rows are needed
	scale   []float32 // one for each column
	zeroA   int32     // zero point of A read as unsigned

	panels, height, higher int // panels of A, with balanced heights
	columns                int // columns of a tile
	mTasks, nTasks         int
	backward               bool // columns go from the last to the first
}

var byteJobs freelist[byteJob]

// prepare computes the values for each column.
func (j *byteJob) prepare() {
	b := j.B
	j.tiles = byteTiles(ActiveLevel())
	j.add, j.zeros, j.scale = resized(j.add, b.n), resized(j.zeros, b.n), resized(j.scale, b.n)
	j.zeroA = j.ZeroA
	if j.SignedA {
		j.zeroA += 128
	}
	j.rowwise = false
	for i := range j.zeros {
		z := -b.shift()
		switch len(j.ZeroB) {
		case 0:
		case 1:
			z += j.ZeroB[0]
		default:
			z += j.ZeroB[i]
		}
		j.zeros[i] = z
		j.rowwise = j.rowwise || z != 0
		j.add[i] = j.zeroA * (int32(b.k)*z - b.sums[i])
	}
	for i, v := range j.Bias[:min(len(j.Bias), b.n)] {
		j.add[i] += v
	}
	switch {
	case j.kind() == intResult:
	case len(j.Scale) == 1:
		for i := range j.scale {
			j.scale[i] = j.Scale[0]
		}
	default:
		copy(j.scale, j.Scale)
	}
}

// resized returns a slice of that length, with undefined elements.
func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// split cuts the product into tasks: by rows if there are many.
func (j *byteJob) split(parallel bool) {
	j.panels = ceilDiv(j.M, j.tiles.rows)
	j.height, j.higher = j.M/j.panels, j.M%j.panels
	j.columns = j.tiles.columns(ceilDiv(j.M, j.panels))
	j.mTasks, j.nTasks = ceilDiv(j.panels, groupPanels), 1
	threads := Threads()
	j.backward = j.M <= 2 && j.B.uses.Add(1)%2 == 0
	if !parallel || threads == 1 {
		return
	}
	want := threads * chunksEach
	if j.panels >= want*splitPanels {
		j.mTasks = ceilDiv(j.mTasks, want) * want // the same number for each thread
		return
	}
	if j.M >= threads*ownRows {
		j.mTasks = ceilDiv(j.mTasks, threads) * threads
	}
	j.nTasks = min(ceilDiv(want, j.mTasks), ceilDiv(j.B.n, j.columns))
	j.mTasks = min(max(j.mTasks, ceilDiv(want, j.nTasks)), j.panels)
}

// panel returns the rows of panel p.
func (j *byteJob) panel(p int) (from, to int) {
	from = p*j.height + min(p, j.higher)
	to = from + j.height
	if p < j.higher {
		to++
	}
	return from, to
}

// Run implements Task over parts of the product.
func (j *byteJob) Run(lo, hi int) {
	p := byteParts.get()
	p.byteJob = j
	for i := lo; i < hi; i++ {
		p.do(i)
	}
	p.byteJob, p.a = nil, nil
	byteParts.put(p)
}

// bytePart is one thread's group of rows and range of columns.
type bytePart struct {
	*byteJob
	p0, p1, m0 int     // panels, and the first row
	a          []byte  // the rows of A
	copied     []byte  // room for copied rows of A
	rowSums    []int32 // sums of these rows, if needed
	tile       byteTile
	finish     byteFinish
	sums       [tileSums]int32
}

var byteParts freelist[bytePart]

// do multiplies part i: a group of panels of A by a range of columns of B.
func (p *bytePart) do(i int) {
	j := p.byteJob
	if j.backward {
		i = mirrored(i, j.nTasks)
	}
	m, n := i/j.nTasks, i%j.nTasks
	steps := ceilDiv(j.B.n, j.columns)
	s0, s1 := n*steps/j.nTasks, (n+1)*steps/j.nTasks
	p.p0, p.p1 = m*j.panels/j.mTasks, (m+1)*j.panels/j.mTasks
	if p.p0 == p.p1 || s0 == s1 {
		return
	}
	p.setup()
	for s := s0; s < s1; s++ {
		at := s
		if j.backward {
			at = s0 + s1 - 1 - s
		}
		n, cols := at*j.columns, min(j.columns, j.B.n-at*j.columns)
		if cols > 2*byteStrip && cols <= 3*byteStrip { // tiles have one, two or four strips
			p.multiply(n, 2*byteStrip)
			n, cols = n+2*byteStrip, cols-2*byteStrip
		}
		p.multiply(n, cols)
	}
}

// setup sets the arguments that are the same for every tile.
func (p *bytePart) setup() {
	first, _ := p.panel(p.p0)
	_, end := p.panel(p.p1 - 1)
	p.m0 = first
	lda := p.rows(first, end)
	if p.rowwise {
		p.rowSums = resized(p.rowSums, end-first)
		for r := range p.rowSums {
			p.rowSums[r] = sumBytes(p.A[(first+r)*p.LDA:][:p.B.k], p.SignedA)
		}
	}
	p.tile = byteTile{aRow: lda, strip: p.B.stripSize(), groups: p.B.groups(), sumRow: 4 * p.columns}
	if p.SignedA {
		p.tile.flip = signBits
	}
	p.finish = byteFinish{sumRow: 4 * p.columns, outRow: 4 * p.B.n}
	if p.kind() == byteResult {
		low, high := int32(0), int32(255)
		if p.Signed {
			low, high = -128, 127
		}
		f := &p.finish
		f.outRow, f.low, f.high, f.zero = p.B.n, float32(low-p.Zero), float32(high-p.Zero), p.Zero
	}
}

// rows finds rows of A in whole groups, and returns the distance between them. It copies rows whose groups would reach beyond A.
// Elements in a group after a row's end are multiplied by zeros of B.
func (p *bytePart) rows(first, end int) (lda int) {
	k, whole := p.B.k, p.B.groups()*byteGroup
	if k == whole || p.LDA >= whole && (end-1)*p.LDA+whole <= len(p.A) {
		p.a = p.A[first*p.LDA:]
		return p.LDA
	}
	p.copied = resized(p.copied, (end-first)*whole)
	p.a = p.copied
	for r := range end - first {
		row := p.a[r*whole:][:whole]
		clear(row[copy(row, p.A[(first+r)*p.LDA:][:k]):])
	}
	return whole
}

// multiply computes cols columns of all panels.
func (p *bytePart) multiply(n, cols int) {
	t, f := &p.tile, &p.finish
	t.b = unsafe.Pointer(&p.B.column(n)[0])
	t.sums = unsafe.Pointer(&p.sums)
	f.sums, f.add, f.zeros = t.sums, unsafe.Pointer(&p.add[n]), unsafe.Pointer(&p.zeros[n])
	kind := p.kind()
	if kind != intResult {
		f.scale = unsafe.Pointer(&p.scale[n])
		if p.Add != nil {
			f.more = unsafe.Pointer(&p.Add[n])
		}
	}
	for i := p.p0; i < p.p1; i++ {
		m0, m1 := p.panel(i)
		t.a = unsafe.Pointer(&p.a[(m0-p.m0)*t.aRow])
		p.tiles.tile(t, m1-m0, cols)
		f.rows = m1 - m0
		if p.rowwise {
			f.rowSums = unsafe.Pointer(&p.rowSums[m0-p.m0])
		}
		switch at := m0*p.B.n + n; kind {
		case intResult:
			f.out = unsafe.Pointer(&p.Ints[at])
		case floatResult:
			f.out = unsafe.Pointer(&p.Floats[at])
		default:
			f.out = unsafe.Pointer(&p.Bytes[at])
		}
		p.tiles.results(f, kind, cols)
	}
}

// sumBytes returns the sum of elements as uint8; signed elements count as 128 larger.
func sumBytes(x []byte, signed bool) (sum int32) {
	var flip uint64
	if signed {
		flip = signBits<<32 | signBits
	}
	const (
		even = 0x00ff00ff00ff00ff
		most = 128 // words whose sums fit 16 bits
	)
	for len(x) >= 8 {
		n := min(len(x)/8, most)
		var lanes uint64
		for i := range n {
			v := binary.LittleEndian.Uint64(x[8*i:]) ^ flip
			lanes += v&even + v>>8&even
		}
		sum += int32(lanes&0xffff + lanes>>16&0xffff + lanes>>32&0xffff + lanes>>48)
		x = x[8*n:]
	}
	for _, v := range x {
		sum += int32(v ^ uint8(flip))
	}
	return sum
}
