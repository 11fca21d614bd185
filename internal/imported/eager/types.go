package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// float are the types that most numeric ops of a model use.
type float interface{ float32 | float64 }

// number are the types with arithmetic.
type number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// arithmetical are the types with sums and products.
type arithmetical interface{ number | complexNumber }

// typed are the kernels of an op by element type.
type typed [tensor.Uint64 + 1]kernel

// numbers returns a table of kernels for all numbers: floats, signed and unsigned integers by size.
func numbers(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 kernel) *typed {
	return &typed{tensor.Float32: f32, tensor.Float64: f64, tensor.Int8: i8, tensor.Int16: i16, tensor.Int32: i32, tensor.Int64: i64,
		tensor.Uint8: u8, tensor.Uint16: u16, tensor.Uint32: u32, tensor.Uint64: u64}
}

// floats returns a table of kernels for floats only.
func floats(f32, f64 kernel) *typed {
	return &typed{tensor.Float32: f32, tensor.Float64: f64}
}

// complexes adds kernels for complex numbers.
func (t *typed) complexes(c64, c128 kernel) *typed {
	t[tensor.Complex64], t[tensor.Complex128] = c64, c128
	return t
}

// on returns a kernel that calls the one for the type of input i.
func (t *typed) on(i int) kernel {
	return func(c call) error {
		if i >= len(c.in) {
			return fmt.Errorf("expected at least %d inputs, got %d", i+1, len(c.in))
		}
		d := c.t(i).DType
		if d < 0 || int(d) >= len(t) || t[d] == nil {
			return fmt.Errorf("type %v %w", d, ErrUnsupported)
		}
		return t[d](c)
	}
}

// outputOf allocates output i with elements of type T.
func outputOf[T tensor.Element](c call, i int, shape ...int) ([]T, error) {
	t, err := c.output(i, tensor.TypeOf[T](), shape...)
	if err != nil {
		return nil, err
	}
	return tensor.Values[T](t), nil
}
