package convert

import (
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// Func converts the elements of src, in their memory layout, into dst, which must have room for as many elements.
type Func func(dst, src []byte)

// Between returns the conversion of one element type to another, nil if there is
// none. As in C, floats are truncated toward zero. Complex numbers convert by their
// real parts. As in TensorFlow, values that do not fit give undefined results. The
// two 16-bit float types convert only to and from float32.
func Between(from, to tensor.DType) Func {
	switch [2]tensor.DType{from, to} {
	case [2]tensor.DType{tensor.Float32, tensor.BFloat16}:
		return narrow(kernels.Brain)
	case [2]tensor.DType{tensor.BFloat16, tensor.Float32}:
		return widen(kernels.Brain)
	case [2]tensor.DType{tensor.Float32, tensor.Float16}:
		return narrow(kernels.Binary16)
	case [2]tensor.DType{tensor.Float16, tensor.Float32}:
		return widen(kernels.Binary16)
	case [2]tensor.DType{tensor.Uint8, tensor.Float32}, [2]tensor.DType{tensor.Bool, tensor.Float32}:
		return by(kernels.FloatsOfUint8)
	case [2]tensor.DType{tensor.Int8, tensor.Float32}:
		return by(kernels.FloatsOfInt8)
	case [2]tensor.DType{tensor.Int32, tensor.Float32}:
		return by(kernels.FloatsOfInt32)
	case [2]tensor.DType{tensor.Float32, tensor.Uint8}:
		return by(kernels.BytesOfFloats[uint8])
	case [2]tensor.DType{tensor.Float32, tensor.Int8}:
		return by(kernels.BytesOfFloats[int8])
	}
	switch from {
	case tensor.Complex64:
		return ofComplex[complex64](to)
	case tensor.Complex128:
		return ofComplex[complex128](to)
	case tensor.Float32:
		return into[float32](to)
	case tensor.Float64:
		return into[float64](to)
	case tensor.Int8:
		return into[int8](to)
	case tensor.Int16:
		return into[int16](to)
	case tensor.Int32:
		return into[int32](to)
	case tensor.Int64:
		return into[int64](to)
	case tensor.Uint8, tensor.Bool: // without a branch on booleans, which would often be mispredicted
		return into[uint8](to)
	case tensor.Uint16:
		return into[uint16](to)
	case tensor.Uint32:
		return into[uint32](to)
	case tensor.Uint64:
		return into[uint64](to)
	}
	return nil
}

func narrow(h kernels.Half) Func {
	return func(dst, src []byte) {
		wide := view[float32](src)
		kernels.Narrow(h, view[uint16](dst)[:len(wide)], wide)
	}
}

func widen(h kernels.Half) Func {
	return func(dst, src []byte) {
		halves := view[uint16](src)
		kernels.Widen(h, view[float32](dst)[:len(halves)], halves)
	}
}

// number is the types that Go converts between.
type number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func into[S number](to tensor.DType) Func {
	switch to {
	case tensor.Float32:
		return each[S, float32]
	case tensor.Float64:
		return each[S, float64]
	case tensor.Int8:
		return each[S, int8]
	case tensor.Int16:
		return each[S, int16]
	case tensor.Int32:
		return each[S, int32]
	case tensor.Int64:
		return each[S, int64]
	case tensor.Uint8:
		return each[S, uint8]
	case tensor.Uint16:
		return each[S, uint16]
	case tensor.Uint32:
		return each[S, uint32]
	case tensor.Uint64:
		return each[S, uint64]
	case tensor.Bool:
		return mapped(func(x S) bool { return x != 0 })
	case tensor.Complex64:
		return mapped(func(x S) complex64 { return complex(float32(x), 0) })
	case tensor.Complex128:
		return mapped(func(x S) complex128 { return complex(float64(x), 0) })
	}
	return nil
}

func each[S, D number](dst, src []byte) {
	d := view[D](dst)
	for i, x := range view[S](src) {
		d[i] = D(x)
	}
}

// by is the conversion by a kernel.
func by[D, S number](kernel func(dst []D, x []S)) Func {
	return func(dst, src []byte) { kernel(view[D](dst), view[S](src)) }
}

func mapped[S, D number | complexNumber | bool](f func(S) D) Func {
	return func(dst, src []byte) {
		d := view[D](dst)
		for i, x := range view[S](src) {
			d[i] = f(x)
		}
	}
}

func view[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
