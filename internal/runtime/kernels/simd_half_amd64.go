//go:build amd64 && !noasm

package kernels

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// converters are the conversions of one 16-bit type at one level. All CPUs with AVX2 and FMA have F16C.
type converters struct {
	widen, narrow func(blocks int, dst, src *byte)
}

var (
	convertAVX2   = [2]converters{Brain: {widenBrainF32AVX2, narrowBrainF32AVX2}, Binary16: {widenHalfF32AVX2, narrowHalfF32AVX2}}
	convertAVX512 = [2]converters{Brain: {widenBrainF32AVX512, narrowBrainF32AVX512}, Binary16: {widenHalfF32AVX512, narrowHalfF32AVX512}}
)

func convertersOf(h Half) *converters {
	switch ActiveLevel() {
	case AVX512:
		return &convertAVX512[h]
	case AVX2:
		return &convertAVX2[h]
	}
	return nil
}

// simdWidenHalves takes whole blocks.
//
//go:noinline
func simdWidenHalves(h Half, dst []float32, src []uint16) bool {
	c := convertersOf(h)
	if c == nil {
		return false
	}
	c.widen(len(dst)/convertBlock, at(dst), (*byte)(unsafe.Pointer(&src[0])))
	return true
}

// simdNarrowHalves takes whole blocks.
//
//go:noinline
func simdNarrowHalves(h Half, dst []uint16, src []float32) bool {
	c := convertersOf(h)
	if c == nil {
		return false
	}
	c.narrow(len(dst)/convertBlock, (*byte)(unsafe.Pointer(&dst[0])), at(src))
	return true
}

//go:noinline
func simdAddProductHalf(y, x []float32, k float32) bool {
	switch ActiveLevel() {
	case AVX512:
		addProductHalfF32AVX512(len(y), at(y), at(x), floatBits(k))
	case AVX2:
		addProductHalfF32AVX2(len(y), at(y), at(x), floatBits(k))
	default:
		return false
	}
	return true
}

// simdPairs takes whole blocks.
//
//go:noinline
func simdPairs(dst []uint16, src []float32) {
	pairsPairAVX512(len(src)/convertBlock, (*byte)(unsafe.Pointer(&dst[0])), at(src))
}

// pairProducts reports whether there are micro-kernels of pairs of bfloat16 at a level.
func pairProducts(l Level) bool { return l == AVX512 && cpu.X86.HasAVX512BF16 }

// The micro-kernels of products whose packed operand has 16-bit elements.
var (
	setPairs      = tileSet{rows: 14, lanes: 16, widest: 2, pad: 16, table: &tilesPairAVX512, stream: &streamsPairAVX512}
	setRowsAVX512 = [2]tileSet{Brain: ofRows(setF32AVX512, &tilesBrainAVX512, &streamsBrainAVX512), Binary16: ofRows(setF32AVX512, &tilesHalfAVX512, &streamsHalfAVX512)}
	setRowsAVX2   = [2]tileSet{Brain: ofRows(setF32AVX2, &tilesBrainAVX2, &streamsBrainAVX2), Binary16: ofRows(setF32AVX2, &tilesHalfAVX2, &streamsHalfAVX2)}
)

// ofRows returns the micro-kernels of float32 plus kernels that read rows of 16-bit numbers.
func ofRows(s tileSet, table, stream *tileTable) tileSet {
	s.halves, s.stream = table, stream
	return s
}

// rowTiles returns the micro-kernels for rows of 16-bit numbers at a level.
func rowTiles(h Half, l Level) *tileSet {
	switch l {
	case AVX512:
		return &setRowsAVX512[h]
	case AVX2:
		return &setRowsAVX2[h]
	}
	return portableTiles[float32]()
}

var (
	streamsPairAVX512  = tileTable{{stream1x1PairAVX512, stream2x1PairAVX512}, {stream1x2PairAVX512, stream2x2PairAVX512}}
	streamsBrainAVX512 = tileTable{{streamBrain1x1F32AVX512, streamBrain2x1F32AVX512}, {streamBrain1x2F32AVX512, streamBrain2x2F32AVX512}}
	streamsHalfAVX512  = tileTable{{streamHalf1x1F32AVX512, streamHalf2x1F32AVX512}, {streamHalf1x2F32AVX512, streamHalf2x2F32AVX512}}
	streamsBrainAVX2   = tileTable{{streamBrain1x1F32AVX2, streamBrain2x1F32AVX2}, {streamBrain1x2F32AVX2, streamBrain2x2F32AVX2}}
	streamsHalfAVX2    = tileTable{{streamHalf1x1F32AVX2, streamHalf2x1F32AVX2}, {streamHalf1x2F32AVX2, streamHalf2x2F32AVX2}}

	tilesBrainAVX512 = tileTable{
		{
			tileBrain1x1F32AVX512, tileBrain2x1F32AVX512, tileBrain3x1F32AVX512, tileBrain4x1F32AVX512,
			tileBrain5x1F32AVX512, tileBrain6x1F32AVX512, tileBrain7x1F32AVX512, tileBrain8x1F32AVX512,
			tileBrain9x1F32AVX512, tileBrain10x1F32AVX512, tileBrain11x1F32AVX512, tileBrain12x1F32AVX512,
			tileBrain13x1F32AVX512, tileBrain14x1F32AVX512, tileBrain15x1F32AVX512, tileBrain16x1F32AVX512,
			tileBrain17x1F32AVX512, tileBrain18x1F32AVX512, tileBrain19x1F32AVX512, tileBrain20x1F32AVX512,
			tileBrain21x1F32AVX512, tileBrain22x1F32AVX512, tileBrain23x1F32AVX512, tileBrain24x1F32AVX512,
			tileBrain25x1F32AVX512, tileBrain26x1F32AVX512, tileBrain27x1F32AVX512, tileBrain28x1F32AVX512,
		},
		{
			tileBrain1x2F32AVX512, tileBrain2x2F32AVX512, tileBrain3x2F32AVX512, tileBrain4x2F32AVX512,
			tileBrain5x2F32AVX512, tileBrain6x2F32AVX512, tileBrain7x2F32AVX512, tileBrain8x2F32AVX512,
			tileBrain9x2F32AVX512, tileBrain10x2F32AVX512, tileBrain11x2F32AVX512, tileBrain12x2F32AVX512,
			tileBrain13x2F32AVX512, tileBrain14x2F32AVX512,
		},
	}
	tilesBrainAVX2 = tileTable{
		{
			tileBrain1x1F32AVX2, tileBrain2x1F32AVX2, tileBrain3x1F32AVX2, tileBrain4x1F32AVX2,
			tileBrain5x1F32AVX2, tileBrain6x1F32AVX2, tileBrain7x1F32AVX2, tileBrain8x1F32AVX2,
			tileBrain9x1F32AVX2, tileBrain10x1F32AVX2, tileBrain11x1F32AVX2, tileBrain12x1F32AVX2,
		},
		{
			tileBrain1x2F32AVX2, tileBrain2x2F32AVX2, tileBrain3x2F32AVX2, tileBrain4x2F32AVX2,
			tileBrain5x2F32AVX2, tileBrain6x2F32AVX2,
		},
	}
	tilesHalfAVX512 = tileTable{
		{
			tileHalf1x1F32AVX512, tileHalf2x1F32AVX512, tileHalf3x1F32AVX512, tileHalf4x1F32AVX512,
			tileHalf5x1F32AVX512, tileHalf6x1F32AVX512, tileHalf7x1F32AVX512, tileHalf8x1F32AVX512,
			tileHalf9x1F32AVX512, tileHalf10x1F32AVX512, tileHalf11x1F32AVX512, tileHalf12x1F32AVX512,
			tileHalf13x1F32AVX512, tileHalf14x1F32AVX512, tileHalf15x1F32AVX512, tileHalf16x1F32AVX512,
			tileHalf17x1F32AVX512, tileHalf18x1F32AVX512, tileHalf19x1F32AVX512, tileHalf20x1F32AVX512,
			tileHalf21x1F32AVX512, tileHalf22x1F32AVX512, tileHalf23x1F32AVX512, tileHalf24x1F32AVX512,
			tileHalf25x1F32AVX512, tileHalf26x1F32AVX512, tileHalf27x1F32AVX512, tileHalf28x1F32AVX512,
		},
		{
			tileHalf1x2F32AVX512, tileHalf2x2F32AVX512, tileHalf3x2F32AVX512, tileHalf4x2F32AVX512,
			tileHalf5x2F32AVX512, tileHalf6x2F32AVX512, tileHalf7x2F32AVX512, tileHalf8x2F32AVX512,
			tileHalf9x2F32AVX512, tileHalf10x2F32AVX512, tileHalf11x2F32AVX512, tileHalf12x2F32AVX512,
			tileHalf13x2F32AVX512, tileHalf14x2F32AVX512,
		},
	}
	tilesHalfAVX2 = tileTable{
		{
			tileHalf1x1F32AVX2, tileHalf2x1F32AVX2, tileHalf3x1F32AVX2, tileHalf4x1F32AVX2,
			tileHalf5x1F32AVX2, tileHalf6x1F32AVX2, tileHalf7x1F32AVX2, tileHalf8x1F32AVX2,
			tileHalf9x1F32AVX2, tileHalf10x1F32AVX2, tileHalf11x1F32AVX2, tileHalf12x1F32AVX2,
		},
		{
			tileHalf1x2F32AVX2, tileHalf2x2F32AVX2, tileHalf3x2F32AVX2, tileHalf4x2F32AVX2,
			tileHalf5x2F32AVX2, tileHalf6x2F32AVX2,
		},
	}
	tilesPairAVX512 = tileTable{
		{
			tile1x1PairAVX512, tile2x1PairAVX512, tile3x1PairAVX512, tile4x1PairAVX512,
			tile5x1PairAVX512, tile6x1PairAVX512, tile7x1PairAVX512, tile8x1PairAVX512,
			tile9x1PairAVX512, tile10x1PairAVX512, tile11x1PairAVX512, tile12x1PairAVX512,
			tile13x1PairAVX512, tile14x1PairAVX512, tile15x1PairAVX512, tile16x1PairAVX512,
			tile17x1PairAVX512, tile18x1PairAVX512, tile19x1PairAVX512, tile20x1PairAVX512,
			tile21x1PairAVX512, tile22x1PairAVX512, tile23x1PairAVX512, tile24x1PairAVX512,
			tile25x1PairAVX512, tile26x1PairAVX512, tile27x1PairAVX512, tile28x1PairAVX512,
		},
		{
			tile1x2PairAVX512, tile2x2PairAVX512, tile3x2PairAVX512, tile4x2PairAVX512,
			tile5x2PairAVX512, tile6x2PairAVX512, tile7x2PairAVX512, tile8x2PairAVX512,
			tile9x2PairAVX512, tile10x2PairAVX512, tile11x2PairAVX512, tile12x2PairAVX512,
			tile13x2PairAVX512, tile14x2PairAVX512,
		},
	}
)
