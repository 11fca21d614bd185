package eager

import "github.com/goestimator/goestimator/internal/runtime/kernels"

// inexactNumber has the element types of matrices.
type inexactNumber interface{ float | complexNumber }

// widen converts numbers to the type that matrices are computed in: float64 for real numbers, complex128 for complex ones.
func widen[W kernels.Field, T inexactNumber](src []T) []W {
	dst := make([]W, len(src))
	switch dst := any(dst).(type) {
	case []float64:
		switch src := any(src).(type) {
		case []float32:
			for i, v := range src {
				dst[i] = float64(v)
			}
		case []float64:
			copy(dst, src)
		}
	case []complex128:
		switch src := any(src).(type) {
		case []float32:
			for i, v := range src {
				dst[i] = complex(float64(v), 0)
			}
		case []float64:
			for i, v := range src {
				dst[i] = complex(v, 0)
			}
		case []complex64:
			for i, v := range src {
				dst[i] = complex128(v)
			}
		case []complex128:
			copy(dst, src)
		}
	}
	return dst
}

// narrowTo converts numbers to elements; it takes the real parts of complex numbers if the elements are real.
func narrowTo[T inexactNumber, W kernels.Field](dst []T, src []W) {
	switch src := any(src).(type) {
	case []float64:
		switch dst := any(dst).(type) {
		case []float32:
			for i, v := range src {
				dst[i] = float32(v)
			}
		case []float64:
			copy(dst, src)
		case []complex64:
			for i, v := range src {
				dst[i] = complex(float32(v), 0)
			}
		case []complex128:
			for i, v := range src {
				dst[i] = complex(v, 0)
			}
		}
	case []complex128:
		switch dst := any(dst).(type) {
		case []float32:
			for i, v := range src {
				dst[i] = float32(real(v))
			}
		case []float64:
			for i, v := range src {
				dst[i] = real(v)
			}
		case []complex64:
			for i, v := range src {
				dst[i] = complex64(v)
			}
		case []complex128:
			copy(dst, src)
		}
	}
}
