package kernels

import "unsafe"

// castKind is a conversion of element types.
type castKind int

const (
	uint8ToFloat castKind = iota
	int8ToFloat
	int32ToFloat
	floatToByte
	castKinds
)

// FloatsOfUint8 sets dst to the numbers x.
func FloatsOfUint8(dst []float32, x []uint8) { castEach(uint8ToFloat, dst, x[:len(dst)]) }

// FloatsOfInt8 sets dst to the numbers x.
func FloatsOfInt8(dst []float32, x []int8) { castEach(int8ToFloat, dst, x[:len(dst)]) }

// FloatsOfInt32 sets dst to the nearest floats of x.
func FloatsOfInt32(dst []float32, x []int32) { castEach(int32ToFloat, dst, x[:len(dst)]) }

// BytesOfFloats sets dst to the numbers x without their fractions, as int8 or uint8. Numbers that do not fit give undefined results.
func BytesOfFloats[T int8 | uint8](dst []T, x []float32) { castEach(floatToByte, dst, x[:len(dst)]) }

// castEach converts all elements of x.
func castEach[D, S int8 | uint8 | int32 | float32](kind castKind, dst []D, x []S) {
	done := simdCast(kind, len(dst), unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)))
	for i := done; i < len(dst); i++ {
		dst[i] = D(x[i])
	}
}
