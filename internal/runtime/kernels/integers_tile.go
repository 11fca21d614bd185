package kernels

import (
	"math"
	"unsafe"
)

// byteTile are the arguments of the micro-kernels of bytes; internal/runtime/kernels/gen has the offsets.
type byteTile struct {
	a      unsafe.Pointer // A[m, 0], in whole groups
	aRow   int            // bytes from row to row
	b      unsafe.Pointer // the first of the strips
	strip  int            // bytes from strip to strip
	sums   unsafe.Pointer // int32
	sumRow int            // bytes from row to row
	groups int            // groups of k, at least one
	flip   uint64         // 0, or signBits if A is int8, which is then read as uint8, 128 larger
}

// signBits are the sign bits of a group.
const signBits = 0x80808080

func (t *byteTile) hidden() *byte {
	p := uintptr(unsafe.Pointer(t))
	return *(**byte)(unsafe.Pointer(&p))
}

// byteTileSet is a family of micro-kernels of bytes, with the kernels that turn sums into results.
type byteTileSet struct {
	rows   int // most rows of a tile
	width  int // columns of a tile
	narrow int // columns of a tile of up to thin rows
	thin   int
	table  func(cols int) []func(*byte) // by rows minus one; nil: Go
	finish [3]func(*byte)               // by kind of result
	lanes  int                          // elements of a vector of results
	masks  bool                         // results may be parts of vectors
}

// tileSums is the most sums of a tile.
const tileSums = 14 * 32

var bytesPortable = byteTileSet{rows: 4, width: 4, narrow: 4, lanes: 1}

// columns returns the most columns of a tile with that many rows.
func (s *byteTileSet) columns(rows int) int {
	if rows <= s.thin {
		return s.narrow
	}
	return s.width
}

// tile computes the sums of a tile. cols is the columns of a full tile, or the rest in whole strips. On levels without VNNI
// and in Go, they are within one strip.
//
//go:noinline
func (s *byteTileSet) tile(t *byteTile, rows, cols int) {
	if s.table == nil {
		portableBytes(t, rows, cols)
		return
	}
	s.table(cols)[rows-1](t.hidden())
}

// portableBytes is the micro-kernel of up to four rows and columns.
func portableBytes(t *byteTile, rows, cols int) {
	for r := 0; r < rows; r += 2 {
		two := r+1 < rows
		for c := 0; c < cols; c += 2 {
			low, high := t.pairs(r, c, two)
			t.put(r, c, cols, low)
			if two {
				t.put(r+1, c, cols, high)
			}
		}
	}
}

// pairs returns the sums of columns c and c+1 in row r and, if two is set, row r+1. One multiplication makes two products: column
// c+1 is in the upper half of a factor, so its sum is in the upper half of the sums. A strip always has room for both columns.
func (t *byteTile) pairs(r, c int, two bool) (first, second int64) {
	flip := uint8(t.flip)
	a := unsafe.Slice((*[byteGroup]uint8)(unsafe.Add(t.a, r*t.aRow)), t.groups)
	other := a
	if two {
		other = unsafe.Slice((*[byteGroup]uint8)(unsafe.Add(t.a, (r+1)*t.aRow)), t.groups)
	}
	other = other[:len(a)]
	b := unsafe.Slice((*[byteStrip * byteGroup]int8)(t.b), t.groups)[:len(a)]
	c = c & (byteStrip - 2) * byteGroup
	for len(a) > 0 {
		n := min(len(a), halfGroups)
		var x, y int64
		for g := range a[:n] {
			u, v, w := &a[g], &other[g], (*[2 * byteGroup]int8)(b[g][c:])
			for k := range byteGroup {
				pair := int64(w[k]) + int64(w[byteGroup+k])<<32
				x += int64(u[k]^flip) * pair
				y += int64(v[k]^flip) * pair
			}
		}
		first, second = addHalves(first, x), addHalves(second, y)
		a, other, b = a[n:], other[n:], b[n:]
	}
	return first, second
}

// halfGroups is the most groups whose sums fit into half of an int64.
const halfGroups = 1 << 31 / (255 * 128 * byteGroup)

// halves returns the sums of two columns.
func halves(sums int64) (low, high int32) {
	low = int32(sums)
	return low, int32((sums - int64(low)) >> 32)
}

// addHalves adds the sums of each column, which wrap around.
func addHalves(x, y int64) int64 {
	xLow, xHigh := halves(x)
	yLow, yHigh := halves(y)
	return int64(xHigh+yHigh)<<32 + int64(xLow+yLow)
}

// put stores two sums of row r. The second may be beyond the last column.
func (t *byteTile) put(r, c, cols int, sums int64) {
	row := unsafe.Add(t.sums, r*t.sumRow)
	low, high := halves(sums)
	*at32[int32](row, c) = low
	if c+1 < cols {
		*at32[int32](row, c+1) = high
	}
}

// resultKind is the kind of result of sums.
type resultKind int

const (
	intResult resultKind = iota
	floatResult
	byteResult
)

// byteFinish are the arguments of the kernels that turn the sums of a tile into results; internal/runtime/kernels/gen has the
// offsets.
type byteFinish struct {
	sums    unsafe.Pointer
	sumRow  int // bytes
	rows    int
	vectors int            // whole vectors of columns
	rest    int            // columns in the partial vector that follows
	add     unsafe.Pointer // for each column: the addend of the sum
	rowSums unsafe.Pointer // nil, or the sum of each row of A
	zeros   unsafe.Pointer // for each column: its zero point, if there are rowSums
	out     unsafe.Pointer
	outRow  int            // bytes
	scale   unsafe.Pointer // for each column
	more    unsafe.Pointer // nil, or for each column the addend of the float
	low     float32        // limits of bytes, without the zero point
	high    float32
	zero    int32
}

func (f *byteFinish) hidden() *byte {
	p := uintptr(unsafe.Pointer(f))
	return *(**byte)(unsafe.Pointer(&p))
}

// results writes the results of a tile of cols columns.
//
//go:noinline
func (s *byteTileSet) results(f *byteFinish, kind resultKind, cols int) {
	if s.finish[kind] == nil {
		f.portable(kind, 0, cols)
		return
	}
	f.vectors, f.rest = cols/s.lanes, cols%s.lanes
	s.finish[kind](f.hidden()) // without masks it leaves the rest
	if f.rest > 0 && !s.masks {
		f.portable(kind, cols-f.rest, cols)
	}
}

// portable computes the results of columns [from, to).
func (f *byteFinish) portable(kind resultKind, from, to int) {
	for r := range f.rows {
		sums, out := unsafe.Add(f.sums, r*f.sumRow), unsafe.Add(f.out, r*f.outRow)
		for c := from; c < to; c++ {
			v := *at32[int32](sums, c) + *at32[int32](f.add, c)
			if f.rowSums != nil {
				v -= *at32[int32](f.rowSums, r) * *at32[int32](f.zeros, c)
			}
			if kind == intResult {
				*at32[int32](out, c) = v
				continue
			}
			x := float32(float32(v) * *at32[float32](f.scale, c)) // converted, so that it is not fused with the addition
			if f.more != nil {
				x += *at32[float32](f.more, c)
			}
			if kind == floatResult {
				*at32[float32](out, c) = x
				continue
			}
			if x = min(x, f.high); !(x >= f.low) { // or NaN
				x = f.low
			}
			*(*uint8)(unsafe.Add(out, c)) = uint8(int32(math.RoundToEven(float64(x))) + f.zero)
		}
	}
}

func at32[T int32 | float32](p unsafe.Pointer, i int) *T { return (*T)(unsafe.Add(p, 4*i)) }
