//go:build amd64 && !noasm

package kernels

import "unsafe"

var (
	tilesF32AVX2 = tileTable{
		{
			tile1x1F32AVX2, tile2x1F32AVX2, tile3x1F32AVX2, tile4x1F32AVX2,
			tile5x1F32AVX2, tile6x1F32AVX2,
		},
		{
			tile1x2F32AVX2, tile2x2F32AVX2, tile3x2F32AVX2, tile4x2F32AVX2,
			tile5x2F32AVX2, tile6x2F32AVX2,
		},
		{tile1x3F32AVX2, tile2x3F32AVX2},
		{tile1x4F32AVX2, tile2x4F32AVX2},
	}
	packsF32AVX2 = tileTable{
		{
			pack1x1F32AVX2, pack2x1F32AVX2, pack3x1F32AVX2, pack4x1F32AVX2,
			pack5x1F32AVX2, pack6x1F32AVX2,
		},
		{
			pack1x2F32AVX2, pack2x2F32AVX2, pack3x2F32AVX2, pack4x2F32AVX2,
			pack5x2F32AVX2, pack6x2F32AVX2,
		},
	}
	tilesF32AVX512 = tileTable{
		{
			tile1x1F32AVX512, tile2x1F32AVX512, tile3x1F32AVX512, tile4x1F32AVX512,
			tile5x1F32AVX512, tile6x1F32AVX512, tile7x1F32AVX512, tile8x1F32AVX512,
			tile9x1F32AVX512, tile10x1F32AVX512, tile11x1F32AVX512, tile12x1F32AVX512,
			tile13x1F32AVX512, tile14x1F32AVX512,
		},
		{
			tile1x2F32AVX512, tile2x2F32AVX512, tile3x2F32AVX512, tile4x2F32AVX512,
			tile5x2F32AVX512, tile6x2F32AVX512, tile7x2F32AVX512, tile8x2F32AVX512,
			tile9x2F32AVX512, tile10x2F32AVX512, tile11x2F32AVX512, tile12x2F32AVX512,
			tile13x2F32AVX512, tile14x2F32AVX512,
		},
		{tile1x3F32AVX512, tile2x3F32AVX512},
		{tile1x4F32AVX512, tile2x4F32AVX512},
		{tile1x5F32AVX512, tile2x5F32AVX512},
		{tile1x6F32AVX512, tile2x6F32AVX512},
		{tile1x7F32AVX512, tile2x7F32AVX512},
		{tile1x8F32AVX512, tile2x8F32AVX512},
	}
	packsF32AVX512 = tileTable{
		{
			pack1x1F32AVX512, pack2x1F32AVX512, pack3x1F32AVX512, pack4x1F32AVX512,
			pack5x1F32AVX512, pack6x1F32AVX512, pack7x1F32AVX512, pack8x1F32AVX512,
			pack9x1F32AVX512, pack10x1F32AVX512, pack11x1F32AVX512, pack12x1F32AVX512,
			pack13x1F32AVX512, pack14x1F32AVX512,
		},
		{
			pack1x2F32AVX512, pack2x2F32AVX512, pack3x2F32AVX512, pack4x2F32AVX512,
			pack5x2F32AVX512, pack6x2F32AVX512, pack7x2F32AVX512, pack8x2F32AVX512,
			pack9x2F32AVX512, pack10x2F32AVX512, pack11x2F32AVX512, pack12x2F32AVX512,
			pack13x2F32AVX512, pack14x2F32AVX512,
		},
	}
	tilesF64AVX2 = tileTable{
		{
			tile1x1F64AVX2, tile2x1F64AVX2, tile3x1F64AVX2, tile4x1F64AVX2,
			tile5x1F64AVX2, tile6x1F64AVX2,
		},
		{
			tile1x2F64AVX2, tile2x2F64AVX2, tile3x2F64AVX2, tile4x2F64AVX2,
			tile5x2F64AVX2, tile6x2F64AVX2,
		},
		{tile1x3F64AVX2, tile2x3F64AVX2},
		{tile1x4F64AVX2, tile2x4F64AVX2},
	}
	packsF64AVX2 = tileTable{
		{
			pack1x1F64AVX2, pack2x1F64AVX2, pack3x1F64AVX2, pack4x1F64AVX2,
			pack5x1F64AVX2, pack6x1F64AVX2,
		},
		{
			pack1x2F64AVX2, pack2x2F64AVX2, pack3x2F64AVX2, pack4x2F64AVX2,
			pack5x2F64AVX2, pack6x2F64AVX2,
		},
	}
	tilesF64AVX512 = tileTable{
		{
			tile1x1F64AVX512, tile2x1F64AVX512, tile3x1F64AVX512, tile4x1F64AVX512,
			tile5x1F64AVX512, tile6x1F64AVX512, tile7x1F64AVX512, tile8x1F64AVX512,
			tile9x1F64AVX512, tile10x1F64AVX512, tile11x1F64AVX512, tile12x1F64AVX512,
			tile13x1F64AVX512, tile14x1F64AVX512,
		},
		{
			tile1x2F64AVX512, tile2x2F64AVX512, tile3x2F64AVX512, tile4x2F64AVX512,
			tile5x2F64AVX512, tile6x2F64AVX512, tile7x2F64AVX512, tile8x2F64AVX512,
			tile9x2F64AVX512, tile10x2F64AVX512, tile11x2F64AVX512, tile12x2F64AVX512,
			tile13x2F64AVX512, tile14x2F64AVX512,
		},
		{tile1x3F64AVX512, tile2x3F64AVX512},
		{tile1x4F64AVX512, tile2x4F64AVX512},
		{tile1x5F64AVX512, tile2x5F64AVX512},
		{tile1x6F64AVX512, tile2x6F64AVX512},
		{tile1x7F64AVX512, tile2x7F64AVX512},
		{tile1x8F64AVX512, tile2x8F64AVX512},
	}
	packsF64AVX512 = tileTable{
		{
			pack1x1F64AVX512, pack2x1F64AVX512, pack3x1F64AVX512, pack4x1F64AVX512,
			pack5x1F64AVX512, pack6x1F64AVX512, pack7x1F64AVX512, pack8x1F64AVX512,
			pack9x1F64AVX512, pack10x1F64AVX512, pack11x1F64AVX512, pack12x1F64AVX512,
			pack13x1F64AVX512, pack14x1F64AVX512,
		},
		{
			pack1x2F64AVX512, pack2x2F64AVX512, pack3x2F64AVX512, pack4x2F64AVX512,
			pack5x2F64AVX512, pack6x2F64AVX512, pack7x2F64AVX512, pack8x2F64AVX512,
			pack9x2F64AVX512, pack10x2F64AVX512, pack11x2F64AVX512, pack12x2F64AVX512,
			pack13x2F64AVX512, pack14x2F64AVX512,
		},
	}
)

// tilesFor returns the micro-kernels of an element type at a level.
func tilesFor[T Float](l Level) tileSet {
	size := int(unsafe.Sizeof(T(0)))
	switch l {
	case AVX512:
		s := tileSet{rows: 14, lanes: 64 / size, widest: 8, pad: 16, table: &tilesF32AVX512, packs: &packsF32AVX512}
		if size == 8 {
			s.table, s.packs = &tilesF64AVX512, &packsF64AVX512
		}
		return s
	case AVX2:
		s := tileSet{rows: 6, lanes: 32 / size, widest: 4, pad: 8, table: &tilesF32AVX2, packs: &packsF32AVX2}
		if size == 8 {
			s.table, s.packs = &tilesF64AVX2, &packsF64AVX2
		}
		return s
	default:
		return portableTiles[T]()
	}
}

// transposeCall is the most columns that one call of assembly moves.
const transposeCall = 4096

// simdTranspose returns how many columns of the source it has done. Strips of rows overlap where the height is not a
// multiple of theirs; rows is at least transposeRows.
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
