//go:build amd64 && !noasm

package kernels

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The micro-kernels of products of bytes.
var (
	bytesVNNI = byteTileSet{rows: 14, width: 32, narrow: 64, thin: 6, table: vnniTiles, lanes: 16, masks: true,
		finish: [3]func(*byte){finishIntsAVX512, finishFloatsAVX512, finishBytesAVX512}}
	bytesAVX2 = byteTileSet{rows: 6, width: 8, narrow: 8, table: func(int) []func(*byte) { return byteTiles8AVX2 }, lanes: 8,
		finish: [3]func(*byte){finishIntsAVX2, finishFloatsAVX2, finishBytesAVX2}}

	byteTiles8AVX2 = []func(*byte){
		byteTile1x8AVX2, byteTile2x8AVX2, byteTile3x8AVX2, byteTile4x8AVX2, byteTile5x8AVX2,
		byteTile6x8AVX2,
	}
	byteTiles16AVX512 = []func(*byte){
		byteTile1x16AVX512, byteTile2x16AVX512, byteTile3x16AVX512, byteTile4x16AVX512, byteTile5x16AVX512,
		byteTile6x16AVX512, byteTile7x16AVX512, byteTile8x16AVX512, byteTile9x16AVX512, byteTile10x16AVX512,
		byteTile11x16AVX512, byteTile12x16AVX512, byteTile13x16AVX512, byteTile14x16AVX512,
	}
	byteTiles32AVX512 = []func(*byte){
		byteTile1x32AVX512, byteTile2x32AVX512, byteTile3x32AVX512, byteTile4x32AVX512, byteTile5x32AVX512,
		byteTile6x32AVX512, byteTile7x32AVX512, byteTile8x32AVX512, byteTile9x32AVX512, byteTile10x32AVX512,
		byteTile11x32AVX512, byteTile12x32AVX512, byteTile13x32AVX512, byteTile14x32AVX512,
	}
	byteTiles64AVX512 = []func(*byte){
		byteTile1x64AVX512, byteTile2x64AVX512, byteTile3x64AVX512, byteTile4x64AVX512, byteTile5x64AVX512,
		byteTile6x64AVX512,
	}
)

// vnniTiles returns the kernels for that many columns, or for the next larger number.
func vnniTiles(cols int) []func(*byte) {
	switch {
	case cols <= 16:
		return byteTiles16AVX512
	case cols <= 32:
		return byteTiles32AVX512
	default:
		return byteTiles64AVX512
	}
}

// byteTiles returns the micro-kernels of bytes at a level. AVX-512 kernels need VNNI.
func byteTiles(l Level) *byteTileSet {
	switch {
	case l >= AVX512 && cpu.X86.HasAVX512VNNI:
		return &bytesVNNI
	case l >= AVX2:
		return &bytesAVX2
	default:
		return &bytesPortable
	}
}

// casters are the conversions of whole vectors, by level and kind.
var casters = map[Level][castKinds]func(vectors int, dst, x *byte){
	AVX2:   {floatsOfUint8AVX2, floatsOfInt8AVX2, floatsOfInt32AVX2, bytesOfFloatsAVX2},
	AVX512: {floatsOfUint8AVX512, floatsOfInt8AVX512, floatsOfInt32AVX512, bytesOfFloatsAVX512},
}

// castCall is the most vectors that one call of assembly converts.
const castCall = 1 << 12

// simdCast returns how many of n elements it has converted.
//
//go:noinline
func simdCast(kind castKind, n int, dst, x unsafe.Pointer) (done int) {
	l := ActiveLevel()
	if l == Portable {
		return 0
	}
	lanes, in, out := 8*int(l), 4, 4
	switch kind {
	case uint8ToFloat, int8ToFloat:
		in = 1
	case floatToByte:
		out = 1
	}
	for done+lanes <= n {
		vectors := min((n-done)/lanes, castCall)
		casters[l][kind](vectors, (*byte)(unsafe.Add(dst, done*out)), (*byte)(unsafe.Add(x, done*in)))
		done += vectors * lanes
	}
	return done
}
