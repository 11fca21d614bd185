//go:build amd64 && !noasm

package kernels

import "unsafe"

// The micro-kernels of both element types.
var (
	setF32AVX512 = tileSet{rows: 14, deep: [2]int{9, 6}, lanes: 16, widest: 8, pad: 16, table: &tilesF32AVX512, packs: &packsF32AVX512, stream: &streamsF32AVX512, folds: &foldsF32AVX512}
	setF64AVX512 = tileSet{rows: 14, deep: [2]int{9, 6}, lanes: 8, widest: 8, pad: 16, table: &tilesF64AVX512, packs: &packsF64AVX512, stream: &streamsF64AVX512}
	setF32AVX2   = tileSet{rows: 6, lanes: 8, widest: 4, pad: 8, table: &tilesF32AVX2, packs: &packsF32AVX2, stream: &streamsF32AVX2}
	setF64AVX2   = tileSet{rows: 6, lanes: 4, widest: 4, pad: 8, table: &tilesF64AVX2, packs: &packsF64AVX2, stream: &streamsF64AVX2}
)

// tilesFor returns the micro-kernels of an element type at a level.
func tilesFor[T Float](l Level) *tileSet {
	switch {
	case l == AVX512 && is32[T]():
		return &setF32AVX512
	case l == AVX512:
		return &setF64AVX512
	case l == AVX2 && is32[T]():
		return &setF32AVX2
	case l == AVX2:
		return &setF64AVX2
	default:
		return portableTiles[T]()
	}
}

// transposeCall is the most columns that one call of assembly transposes.
const transposeCall = 4096

// simdTranspose returns the number of columns of the source that it has transposed. The last strips of rows overlap if rows,
// at least transposeRows, is not a multiple of their height.
func simdTranspose[T Float](dst []T, ldd int, src []T, lds int, rows, cols int) int {
	if ActiveLevel() < AVX2 {
		return 0
	}
	size := int(unsafe.Sizeof(T(0)))
	strip := 32 / size
	cols -= cols % strip
	for c := 0; c < cols; c += transposeCall {
		n := min(transposeCall, cols-c)
		for r := 0; r < rows; r += strip {
			r := min(r, rows-strip)
			d, s := unsafe.Pointer(&dst[c*ldd+r]), unsafe.Pointer(&src[r*lds+c])
			callTranspose(size, (*byte)(d), ldd*size, (*byte)(s), lds*size, n/strip)
		}
	}
	return cols
}

//go:noinline
func callTranspose(size int, dst *byte, ldd int, src *byte, lds int, blocks int) {
	if size == 4 {
		transposeF32AVX2(dst, ldd, src, lds, blocks)
		return
	}
	transposeF64AVX2(dst, ldd, src, lds, blocks)
}
