package distribute

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Whole returns a Fill for a value in memory.
func Whole(value *tensor.Tensor) Fill {
	return func(dst *tensor.Tensor, first int) error {
		if dst.DType != value.DType || len(dst.Shape) != len(value.Shape) || len(value.Shape) > 0 && !slices.Equal(dst.Shape[1:], value.Shape[1:]) {
			return fmt.Errorf("expected a value of %v%v, got %v%v", dst.DType, dst.Shape, value.DType, value.Shape)
		}
		if len(value.Shape) == 0 {
			copy(dst.Bytes, value.Bytes)
			return nil
		}
		if first < 0 || first+dst.Shape[0] > value.Shape[0] {
			return fmt.Errorf("expected rows %d to %d, got a value of %v%v", first, first+dst.Shape[0], value.DType, value.Shape)
		}
		row := len(value.Bytes) / max(value.Shape[0], 1)
		copy(dst.Bytes, value.Bytes[first*row:])
		return nil
	}
}

// whole writes all rows.
func (f Fill) whole(dst *tensor.Tensor) error { return f(dst, 0) }

// tensor returns the whole value of a Fill.
func (f Fill) tensor(t graph.Type) (*tensor.Tensor, error) {
	value := tensor.New(t.DType, t.Shape.At(0)...)
	return value, f(value, 0)
}
