package convert

import "github.com/goestimator/goestimator/tensor"

type complexNumber interface{ complex64 | complex128 }

// ofComplex converts complex numbers to another complex type, or their real parts to other types.
func ofComplex[S complexNumber](to tensor.DType) Func {
	switch to {
	case tensor.Complex64:
		return mapped(func(x S) complex64 { return complex64(x) })
	case tensor.Complex128:
		return mapped(func(x S) complex128 { return complex128(x) })
	case tensor.Float32:
		return realInto[S, float32]
	case tensor.Float64:
		return realInto[S, float64]
	case tensor.Int8:
		return realInto[S, int8]
	case tensor.Int16:
		return realInto[S, int16]
	case tensor.Int32:
		return realInto[S, int32]
	case tensor.Int64:
		return realInto[S, int64]
	case tensor.Uint8:
		return realInto[S, uint8]
	case tensor.Uint16:
		return realInto[S, uint16]
	case tensor.Uint32:
		return realInto[S, uint32]
	case tensor.Uint64:
		return realInto[S, uint64]
	case tensor.Bool:
		return mapped(func(x S) bool { return real(complex128(x)) != 0 })
	}
	return nil
}

func realInto[S complexNumber, D number](dst, src []byte) {
	d := view[D](dst)
	for i, x := range view[S](src) {
		d[i] = D(real(complex128(x)))
	}
}
