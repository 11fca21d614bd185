package stablehlograph

import (
	"encoding/binary"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// scalar returns a number of the type.
func scalar(d tensor.DType, v float64) *value {
	t := tensor.New(d)
	switch d {
	case tensor.Float64:
		return bits(t, math.Float64bits(v))
	case tensor.Float32:
		return bits(t, uint64(math.Float32bits(float32(v))))
	case tensor.Float16:
		return bits(t, uint64(tensor.Float16Bits(float32(v))))
	case tensor.BFloat16:
		return bits(t, uint64(tensor.BFloat16Bits(float32(v))))
	case tensor.Complex64:
		return bits(t, uint64(math.Float32bits(float32(v))))
	case tensor.Complex128:
		return bits(t, math.Float64bits(v))
	}
	return bits(t, uint64(int64(v)))
}

// bits returns a scalar whose first bytes are an integer's.
func bits(t *tensor.Tensor, v uint64) *value {
	var whole [8]byte
	binary.LittleEndian.PutUint64(whole[:], v)
	copy(t.Bytes, whole[:])
	return constant(t)
}

// integers has the integer types by size: signed and unsigned.
var integers = map[int][2]tensor.DType{1: {tensor.Int8, tensor.Uint8}, 2: {tensor.Int16, tensor.Uint16}, 4: {tensor.Int32, tensor.Uint32}, 8: {tensor.Int64, tensor.Uint64}}

// isInteger reports whether d is an integer type, and unsigned whether it is an unsigned one.
func isInteger(d tensor.DType) bool { return d == integers[d.Size()][0] || unsigned(d) }

func unsigned(d tensor.DType) bool { return d != tensor.Invalid && d == integers[d.Size()][1] }

// floats has the float types by their bits of exponent and mantissa.
var floats = map[[2]int]tensor.DType{{5, 10}: tensor.Float16, {8, 7}: tensor.BFloat16, {8, 23}: tensor.Float32, {11, 52}: tensor.Float64}

func exponentBits(d tensor.DType) int {
	for bits, f := range floats {
		if f == d {
			return bits[0]
		}
	}
	return 0
}

// isComplex reports whether d is a complex type.
func isComplex(d tensor.DType) bool { return d == tensor.Complex64 || d == tensor.Complex128 }

// integerRange returns the smallest and largest number of an integer type, as floats.
func integerRange(d tensor.DType) (least, most float64) {
	n := 8 * d.Size()
	if unsigned(d) {
		return 0, math.Ldexp(1, n) - 1
	}
	return -math.Ldexp(1, n-1), math.Ldexp(1, n-1) - 1
}
