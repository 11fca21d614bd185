//go:build !amd64 || noasm

package kernels

import "unsafe"

// Each simd function reports whether it has done the work; none does in this build.

func simdUnary[T Float](UnaryOp, []T, []T) bool { return false }

func simdBinary[T Float](BinaryOp, []T, []T, []T) bool { return false }

func simdScalar[T Float](BinaryOp, []T, []T, T) bool { return false }

func simdAxpy[T Float](T, []T, []T) bool { return false }

func simdSum[T Float]([]T) (T, bool) { return 0, false }

func simdDot[T Float](_, _ []T) (T, bool) { return 0, false }

// simdDotRows returns how many rows it has done.
func simdDotRows[T Float](_, _ []T, _ int, _ []T, _ T, _, _ bool) int { return 0 }

func simdMax[T Float]([]T) (T, bool) { return 0, false }

func simdMin[T Float]([]T) (T, bool) { return 0, false }

func simdColumns[T Float](colKind, []T, []T, []T, []T) bool { return false }

func simdRows[T Float](*rowMap[T], int) bool { return false }

func simdNormGrad[T Float](_, _, _ []T, _ *[3][]T) bool { return false }

// simdTranspose returns how many columns of the source it has done.
func simdTranspose[T Float](_ []T, _ int, _ []T, _ int, _, _ int) int { return 0 }

func tilesFor[T Float](Level) *tileSet { return portableTiles[T]() }

// simdCast returns how many elements it has converted.
func simdCast(castKind, int, unsafe.Pointer, unsafe.Pointer) int { return 0 }

func byteTiles(Level) *byteTileSet { return &bytesPortable }

func simdMomentum[T Float](_, _, _ []T, _ *[6]T, _ bool) bool { return false }

func simdAdam[T Float](_, _, _, _ []T, _ *[6]T) bool { return false }

func simdMaxWindow[T Float](_, _ []T, _ *pixelWindow) bool { return false }

func simdMulAddPixels[T Float](_ []T, _ int, _ []T, _ int, _ []T, _ int) bool { return false }

func simdDotPixels[T Float](_, _ []T, _ int, _ []T, _ int, _ int) bool { return false }

func simdRoutePixels[T Float](_ pixelRun, _, _, _, _ []T, _ int, _ bool) bool { return false }

func simdAdagrad[T Float](_, _, _ []T, _ *[6]T) bool { return false }

func simdCopyRows[T Float](_ []T, _ int, _ []T, _ int, _, _ int) bool { return false }

func simdRouteWindow[T Float](_, _, _, _ []T, _ *pixelWindow) bool { return false }

func simdKerasMomentum[T Float](_, _, _ []T, _ *[6]T, _ bool) bool { return false }

func simdRMSProp[T Float](_, _, _, _, _ []T, _ *[6]T) bool { return false }

func simdFtrl[T Float](_, _, _, _ []T, _ *[6]T) bool { return false }

func simdTransform[T Float](transform, *transformArgs) bool { return false }

func simdRandom[T Float](randKind, []T, *philoxRun) int { return 0 }

func simdNormals([]float32) bool { return false }

// The kernels of JPEG return how much they have done.

func simdFastInverse([]byte, *BlockLine, int) int { return 0 }

func simdWiden(_, _ []byte) int { return 0 }

func simdWidenBoth(_, _, _ []byte) int { return 0 }

func simdRGBPixels(_, _, _, _ []byte) int { return 0 }
