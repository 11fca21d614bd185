package kernels

import (
	"math"
	"math/bits"
	"unsafe"
)

// tileArgs are the arguments of the micro-kernels; internal/runtime/kernels/gen has the offsets. Strides are in bytes, so that
// the same code works for packed, plain and transposed operands.
type tileArgs struct {
	a, b, c  unsafe.Pointer // op(A)[m, k], op(B)[k, n], C[m, n]
	aRow, aK int
	bK       int
	cRow     int
	k        int            // k of one run
	lanes    uint64         // number of elements in the last vector
	old      unsafe.Pointer // nil, or values to add, with C's strides; C itself to accumulate
	alpha    uint64         // bits of a float32 or float64
	runs     int            // runs of k; after each, A skips aSkip bytes and B continues
	aSkip    int
	bias     unsafe.Pointer // nil, or one element for each column
	relu     uint64         // 1: clip below zero
	strip    unsafe.Pointer // destination of packing kernels' copy of B
	scale    unsafe.Pointer // nil, or one factor for each column
}

// hidden returns t as the argument of micro-kernels. They do not keep it, which the compiler cannot see through a table of
// functions. The detour over an integer lets arguments stay on the stack.
func (t *tileArgs) hidden() *byte {
	p := uintptr(unsafe.Pointer(t))
	return *(**byte)(unsafe.Pointer(&p))
}

// tileSet is a family of micro-kernels.
type tileSet struct {
	rows   int        // most rows of a tile
	lanes  int        // elements of a vector
	widest int        // most vectors in a row of a tile of one or two rows; higher tiles have two
	deep   [2]int     // most rows of a tile of three and of four vectors; 0 if there are none
	pad    int        // distance between columns of a packed panel of A
	table  *tileTable // kernels that read B only
	packs  *tileTable // kernels of up to two vectors that also pack B
	stream *tileTable // kernels of one or two rows that read packed B once
	halves *tileTable // nil, or kernels that read packed rows of 16-bit numbers
	folds  *foldTable // nil, or kernels for a part of a vector
	go32   bool
	go64   bool
}

// tileTable has the kernels, indexed by the numbers of vectors and of rows minus one.
type tileTable [8][28]func(*byte)

// foldTable has the kernels by k in a vector, 2 and 4, and the tile kernels also by the number of rows minus one.
type foldTable struct {
	packs [2]func(groups, stride, cols int, dst, b *byte)
	tiles [2][14]func(*byte)
}

// tile computes a tile of the given size, which must be within the set's bounds. It is the preemption point between two
// calls of assembly.
//
//go:noinline
func (s *tileSet) tile(t *tileArgs, rows, cols int) {
	switch {
	case s.go32:
		portableTile[float32](t, rows, cols)
	case s.go64:
		portableTile[float64](t, rows, cols)
	default:
		vectors := s.vectors(cols)
		t.lanes = uint64(cols - (vectors-1)*s.lanes)
		s.table[vectors-1][rows-1](t.hidden())
	}
}

// halfTile is tile for packed rows of 16-bit numbers.
//
//go:noinline
func (s *tileSet) halfTile(t *tileArgs, rows, cols int) {
	vectors := s.vectors(cols)
	t.lanes = uint64(cols - (vectors-1)*s.lanes)
	s.halves[vectors-1][rows-1](t.hidden())
}

// packingTile is tile for at most two vectors of columns. It also copies the rows of B that it reads to t.strip, as whole
// vectors.
//
//go:noinline
func (s *tileSet) packingTile(t *tileArgs, rows, cols int) {
	if s.packs == nil {
		portablePack(t, s, cols)
		s.tile(t, rows, cols)
		return
	}
	vectors := s.vectors(cols)
	t.lanes = uint64(cols - (vectors-1)*s.lanes)
	s.packs[vectors-1][rows-1](t.hidden())
}

// streamTile is tile for one or two contiguous rows of A, and at most two vectors of packed columns.
//
//go:noinline
func (s *tileSet) streamTile(t *tileArgs, rows, cols int) {
	if s.stream == nil {
		s.tile(t, rows, cols)
		return
	}
	vectors := s.vectors(cols)
	t.lanes = uint64(cols - (vectors-1)*s.lanes)
	s.stream[vectors-1][rows-1](t.hidden())
}

// foldTile is tile for the last columns. A vector holds per of their packed rows: each half of its lanes for 2, or a quarter for 4.
//
//go:noinline
func (s *tileSet) foldTile(t *tileArgs, rows, cols, per int) {
	t.lanes = uint64(cols)
	s.folds.tiles[per/4][rows-1](t.hidden())
}

// packFold copies groups of per rows of B in foldTile's order.
//
//go:noinline
func (s *tileSet) packFold(per int, rows foldRows, dst, b unsafe.Pointer) {
	s.folds.packs[per/4](rows.groups, rows.stride, rows.cols, (*byte)(dst), (*byte)(b))
}

// foldRows is groups of rows of B, stride bytes apart.
type foldRows struct{ groups, stride, cols int }

// vectors returns the number of vectors for cols columns. It uses that lanes is a power of two, since a division would take
// longer than the loop of a small tile.
func (s *tileSet) vectors(cols int) int {
	return (cols + s.lanes - 1) >> (bits.TrailingZeros(uint(s.lanes)) % 64)
}

// height returns the most rows of a tile of cols columns.
func (s *tileSet) height(cols int) int {
	switch vectors := s.vectors(cols); {
	case vectors == 1 && s.table != nil:
		return 2 * s.rows
	case (vectors == 3 || vectors == 4) && s.deep[0] > 0:
		return s.deep[vectors-3]
	default:
		return s.rows
	}
}

func portablePack(t *tileArgs, s *tileSet, cols int) {
	size := 8
	if s.go32 {
		size = 4
	}
	width := s.vectors(cols) * s.lanes * size
	for k := range t.k {
		dst, src := unsafe.Add(t.strip, k*width), unsafe.Add(t.b, k*t.bK)
		copy(unsafe.Slice((*byte)(dst), cols*size), unsafe.Slice((*byte)(src), cols*size))
	}
}

var (
	setF32Portable = tileSet{rows: 4, lanes: 2, widest: 2, pad: 4, go32: true}
	setF64Portable = tileSet{rows: 4, lanes: 2, widest: 2, pad: 4, go64: true}
)

func portableTiles[T Float]() *tileSet {
	if is32[T]() {
		return &setF32Portable
	}
	return &setF64Portable
}

// floatBits returns v's bits for the micro-kernels.
func floatBits[T Float](v T) uint64 {
	if is32[T]() {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(float64(v))
}

func fromBits[T Float](b uint64) T {
	if is32[T]() {
		return T(math.Float32frombits(uint32(b)))
	}
	return T(math.Float64frombits(b))
}

// portableTile is the micro-kernel of 4 x 4.
func portableTile[T Float](t *tileArgs, rows, cols int) {
	var acc [4][4]T
	if rows == 4 && cols == 4 {
		acc = fullTile[T](t)
	} else {
		for r := range rows {
			for c := range cols {
				acc[r][c] = dotTile[T](t, r, c)
			}
		}
	}
	for r := range rows {
		for c := range cols {
			portableFinish(t, r, c, acc[r][c])
		}
	}
}

// portableFinish stores element r, c of a tile, given its sum.
func portableFinish[T Float](t *tileArgs, r, c int, sum T) {
	size := int(unsafe.Sizeof(sum))
	v := fromBits[T](t.alpha) * sum
	if t.scale != nil {
		v *= *(*T)(unsafe.Add(t.scale, c*size))
	}
	if t.bias != nil {
		v += *(*T)(unsafe.Add(t.bias, c*size))
	}
	if t.old != nil {
		v += *(*T)(unsafe.Add(t.old, r*t.cRow+c*size))
	}
	if t.relu != 0 {
		v = max(v, 0)
	}
	*(*T)(unsafe.Add(t.c, r*t.cRow+c*size)) = v
}

// runAt returns the offsets of a run's operands from the first run's.
func (t *tileArgs) runAt(run int) (a, b int) {
	return run * (t.k*t.aK + t.aSkip), run * t.k * t.bK
}

func dotTile[T Float](t *tileArgs, r, c int) T {
	var sum T
	for run := range t.runs {
		da, db := t.runAt(run)
		a, b := unsafe.Add(t.a, r*t.aRow+da), unsafe.Add(t.b, c*int(unsafe.Sizeof(sum))+db)
		for k := range t.k {
			sum += *(*T)(unsafe.Add(a, k*t.aK)) * *(*T)(unsafe.Add(b, k*t.bK))
		}
	}
	return sum
}

// fullTile keeps eight sums at a time in registers.
func fullTile[T Float](t *tileArgs) (acc [4][4]T) {
	for half := range 2 {
		var s00, s01, s02, s03, s10, s11, s12, s13 T
		for run := range t.runs {
			da, db := t.runAt(run)
			first, b0 := unsafe.Add(t.a, 2*half*t.aRow+da), unsafe.Add(t.b, db)
			for k := range t.k {
				b := (*[4]T)(unsafe.Add(b0, k*t.bK))
				a0, a1 := *(*T)(unsafe.Add(first, k*t.aK)), *(*T)(unsafe.Add(first, k*t.aK+t.aRow))
				s00 += a0 * b[0]
				s01 += a0 * b[1]
				s02 += a0 * b[2]
				s03 += a0 * b[3]
				s10 += a1 * b[0]
				s11 += a1 * b[1]
				s12 += a1 * b[2]
				s13 += a1 * b[3]
			}
		}
		acc[2*half] = [4]T{s00, s01, s02, s03}
		acc[2*half+1] = [4]T{s10, s11, s12, s13}
	}
	return acc
}
