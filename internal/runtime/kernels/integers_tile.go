package kernels

import (
	"math"
	"unsafe"
)

// byteTile is what the micro-kernels of bytes read; internal/runtime/kernels/gen knows the offsets.
type byteTile struct {
	a      unsafe.Pointer // A[m, 0], in whole groups
	aRow   int            // bytes from row to row
	b      unsafe.Pointer // the first of the strips
	strip  int            // bytes from strip to strip
	sums   unsafe.Pointer // int32
	sumRow int            // bytes from row to row
	groups int            // of k, at least one
	flip   uint64         // 0, or signBits where A is of int8: it is then taken as uint8, 128 larger
}

// signBits are the sign bits of a group.
const signBits = 0x80808080

func (t *byteTile) hidden() *byte {
	p := uintptr(unsafe.Pointer(t))
	return *(**byte)(unsafe.Pointer(&p))
}

// byteTileSet is a family of micro-kernels of bytes, and of those that make results of sums.
type byteTileSet struct {
	rows   int // most rows of a tile
	width  int // columns of a tile
	narrow int // columns of a tile of up to thin rows
	thin   int
	table  func(cols int) []func(*byte) // by rows, less one; nil: Go
	finish [3]func(*byte)               // by kind of result
	lanes  int                          // of a vector of results
	masks  bool                         // results may be parts of vectors
}

// tileBytes is the most bytes that the sums of a tile take.
const tileSums = 14 * 32

var bytesPortable = byteTileSet{rows: 4, width: 4, narrow: 4, lanes: 1}

// columns returns how many columns a tile of so many rows has.
func (s *byteTileSet) columns(rows int) int {
	if rows <= s.thin {
		return s.narrow
	}
	return s.width
}

// tile computes the sums of a tile. The columns are a tile's, or as many as are left of them in whole strips; on levels
// without VNNI and in Go they lie within one strip.
//
//go:noinline
func (s *byteTileSet) tile(t *byteTile, rows, cols int) {
	if s.table == nil {
		portableBytes(t, rows, cols)
		return
	}
	s.table(cols)[rows-1](t.hidden())
}

func portableBytes(t *byteTile, rows, cols int) {
	flip := uint32(t.flip)
	for r := range rows {
		a := unsafe.Slice((*[4]uint8)(unsafe.Add(t.a, r*t.aRow)), t.groups)
		sums := unsafe.Slice((*int32)(unsafe.Add(t.sums, r*t.sumRow)), cols)
		for c := range sums {
			var sum int32
			for g, v := range a {
				w := (*[4]int8)(unsafe.Add(t.b, g*byteGroup*byteStrip+c*byteGroup))
				f := uint8(flip)
				sum += int32(v[0]^f)*int32(w[0]) + int32(v[1]^f)*int32(w[1]) + int32(v[2]^f)*int32(w[2]) + int32(v[3]^f)*int32(w[3])
			}
			sums[c] = sum
		}
	}
}

// resultKind says what is made of sums.
type resultKind int

const (
	intResult resultKind = iota
	floatResult
	byteResult
)

// byteFinish is what the kernels read that make results of the sums of a tile; internal/runtime/kernels/gen knows the offsets.
type byteFinish struct {
	sums    unsafe.Pointer
	sumRow  int // bytes
	rows    int
	vectors int            // whole vectors of columns
	rest    int            // columns of a part of a vector that follows
	add     unsafe.Pointer // for each column: what to add to the sum
	rowSums unsafe.Pointer // nil, or the sum of each row of A
	zeros   unsafe.Pointer // for each column: its zero point, where there are sums of rows
	out     unsafe.Pointer
	outRow  int            // bytes
	scale   unsafe.Pointer // for each column
	more    unsafe.Pointer // nil, or for each column what to add to the float
	low     float32        // of bytes, without the zero point
	high    float32
	zero    int32
}

func (f *byteFinish) hidden() *byte {
	p := uintptr(unsafe.Pointer(f))
	return *(**byte)(unsafe.Pointer(&p))
}

// results writes the results of a tile of so many columns.
//
//go:noinline
func (s *byteTileSet) results(f *byteFinish, kind resultKind, cols int) {
	if s.finish[kind] == nil {
		f.portable(kind, 0, cols)
		return
	}
	f.vectors, f.rest = cols/s.lanes, cols%s.lanes
	left := f.rest
	if !s.masks {
		f.rest = 0
	} else {
		left = 0
	}
	s.finish[kind](f.hidden())
	f.portable(kind, cols-left, cols)
}

// portable makes the results of columns [from, to).
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
			x := float32(v) * *at32[float32](f.scale, c)
			if f.more != nil {
				x += *at32[float32](f.more, c)
			}
			if kind == floatResult {
				*at32[float32](out, c) = x
				continue
			}
			x = min(max(x, f.low), f.high)
			*(*uint8)(unsafe.Add(out, c)) = uint8(int32(math.RoundToEven(float64(x))) + f.zero)
		}
	}
}

func at32[T int32 | float32](p unsafe.Pointer, i int) *T { return (*T)(unsafe.Add(p, 4*i)) }
