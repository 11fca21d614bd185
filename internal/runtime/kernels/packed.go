package kernels

import (
	"sync/atomic"
	"unsafe"
)

// PackedB is the right operand of a product in the order in which the micro-kernels read it, made once for constant weights. Any
// number of products may share it at the same time.
type PackedB[T Float] struct {
	k, n  int
	trans bool // made from B transposed
	tiles *tileSet
	data  []T // strips of two vectors of columns and k rows; the last strip may be one vector wide

	halves *halfStrips // nil, or the strips of 16-bit numbers: see PackHalves

	uses atomic.Uint32 // products of few rows so far
}

// PackB copies op(B) [k, n], whose rows are ldb elements apart (b is [n, k] if trans), for the level in use.
func PackB[T Float](b []T, ldb, k, n int, trans bool) *PackedB[T] {
	if trans {
		checkMatrix(b, n, k, ldb)
	} else {
		checkMatrix(b, k, n, ldb)
	}
	p := &PackedB[T]{k: k, n: n, trans: trans, tiles: tilesFor[T](ActiveLevel())}
	p.data = aligned[T](k * ceilDiv(n, p.tiles.lanes) * p.tiles.lanes)
	for at := 0; at < n && k > 0; at += p.stripWidth() {
		dst, ld, cols := p.strip(at)
		if trans {
			transposeRange(dst, ld, b[at*ldb:], ldb, cols, k)
			continue
		}
		for i := range k {
			copy(dst[i*ld:][:cols], b[i*ldb+at:])
		}
	}
	return p
}

// Unpack restores the matrix that PackB read, without gaps between rows: [k, n], or [n, k] if it was transposed.
func (p *PackedB[T]) Unpack(b []T) {
	for at := 0; at < p.n && p.k > 0; at += p.stripWidth() {
		src, ld, cols := p.strip(at)
		if p.trans {
			for j := range cols {
				for i := range p.k {
					b[(at+j)*p.k+i] = src[i*ld+j]
				}
			}
			continue
		}
		for i := range p.k {
			copy(b[i*p.n+at:][:cols], src[i*ld:])
		}
	}
}

// Size returns the rows and columns of op(B).
func (p *PackedB[T]) Size() (k, n int) { return p.k, p.n }

// Memory returns the bytes of the operand.
func (p *PackedB[T]) Memory() int64 {
	if p.halves != nil {
		return sizeOf(p.data) + 2*int64(len(p.halves.rows))
	}
	return sizeOf(p.data)
}

func sizeOf[T Float](x []T) int64 { return int64(len(x)) * int64(unsafe.Sizeof(T(0))) }

// stripWidth is the number of columns of a whole strip.
func (p *PackedB[T]) stripWidth() int { return 2 * p.tiles.lanes }

// strip returns the strip that starts at column n, the distance between its rows and the number of its columns.
func (p *PackedB[T]) strip(n int) (data []T, ld, cols int) {
	ld, cols = p.stripSize(n)
	return p.data[n*p.depth():], ld, cols
}

// stripSize is strip without the data.
func (p *PackedB[T]) stripSize(n int) (ld, cols int) {
	cols = min(p.stripWidth(), p.n-n)
	return ceilDiv(cols, p.tiles.lanes) * p.tiles.lanes, cols
}

// cacheLine is the alignment in bytes of operands that are read as vectors.
const cacheLine = 64

// aligned returns n zeros that start at a cache line.
func aligned[T Float | byte](n int) []T {
	size := int(unsafe.Sizeof(T(0)))
	x := make([]T, n+cacheLine/size)
	skip := (cacheLine - int(uintptr(unsafe.Pointer(unsafe.SliceData(x))))%cacheLine) % cacheLine / size
	return x[skip : skip+n : skip+n]
}

// Epilogue is what is done to each element of a product or convolution before it is stored: * Scale, + Bias, + Add, then
// max(_, 0) if Relu.
type Epilogue[T Float] struct {
	Scale []T // nil, or one element for each column (output channel)
	Bias  []T // likewise
	Add   []T // nil, or as long as the result, with the same strides; may be the result itself
	Relu  bool
}

// check panics if a slice is too short for a result of n columns and the given length.
func (e *Epilogue[T]) check(n, length int) {
	for _, columns := range [][]T{e.Scale, e.Bias} {
		if columns != nil {
			_ = columns[:n]
		}
	}
	if e.Add != nil {
		_ = e.Add[:length]
	}
}

// PackedArgs is a product C = A*B with a packed B and an epilogue.
type PackedArgs[T Float] struct {
	M   int
	A   []T // [M, k of B], rows LDA elements apart
	LDA int
	B   *PackedB[T]
	C   []T // [M, n of B], rows LDC elements apart; must not overlap A
	LDC int
	Epilogue[T]
}

// MatMulPacked computes the product on as many workers as pays. The order of the additions within one element of C depends
// only on M and the size of B.
func MatMulPacked[T Float](g PackedArgs[T]) {
	from := gemmParallelFrom
	if g.M <= 2 {
		from = streamParallelFrom
	}
	g.multiply(g.M*g.B.n*g.B.k >= from)
}

// streamParallelFrom is gemmParallelFrom for products that are bound by reading B.
const streamParallelFrom = 100_000

// packedSerial is MatMulPacked on the calling goroutine.
func packedSerial[T Float](g PackedArgs[T]) { g.multiply(false) }

func (g *PackedArgs[T]) multiply(parallel bool) {
	checkMatrix(g.A, g.M, g.B.k, g.LDA)
	checkMatrix(g.C, g.M, g.B.n, g.LDC)
	if g.M == 0 || g.B.n == 0 {
		return
	}
	g.Epilogue.check(g.B.n, (g.M-1)*g.LDC+g.B.n)
	if g.B.halves != nil && g.B.halves.pairs && g.B.k > 0 {
		g.multiplyPairs(parallel)
		return
	}
	g.product(GemmArgs[T]{M: g.M, N: g.B.n, K: g.B.k, Alpha: 1, A: g.A, LDA: g.LDA}, parallel)
}

// product does a product of the given operands, with all other arguments from g.
func (g *PackedArgs[T]) product(a GemmArgs[T], parallel bool) {
	a.C, a.LDC, a.Bias, a.Relu = g.C, g.LDC, g.Bias, g.Relu
	j := gemmJobs[T]().get()
	j.packed, j.scale, j.add = g.B, g.Scale, g.Add
	j.gemm(a, parallel)
	j.GemmArgs, j.packed, j.scale, j.add = GemmArgs[T]{}, nil, nil, nil
	gemmJobs[T]().put(j)
}
