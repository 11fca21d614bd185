package edgecases

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// Differences compares a result with TensorFlow's and returns the elements that differ. NaN and infinities must be equal; other
// floats may differ by tol times their size, or by tol if they are smaller than 1. The answer may have the other float type.
func Differences(got *tensor.Tensor, want Tensor, tol float64) ([]int, error) {
	w := want.Graph()
	if got.DType != w.DType && !(got.DType.Float() && w.DType.Float()) || !slices.Equal(got.Shape, w.Shape) {
		return nil, fmt.Errorf("got %v%v, TensorFlow %v%v", got.DType, got.Shape, w.DType, w.Shape)
	}
	var at []int
	for i := range w.Len() {
		y := w.Float(i)
		if got.DType == tensor.Float32 {
			y = float64(float32(y))
		}
		if !Same(got.Float(i), y, tol) {
			at = append(at, i)
		}
	}
	return at, nil
}

// Between reports whether element i of a result is correct for a denormal operand x, drawn by All. TensorFlow treats x as zero,
// we do not; so the result must be between TensorFlow's for x and TensorFlow's for the normal number next to it.
func Between(got, want *tensor.Tensor, i int, x float64, tol float64) bool {
	all := All(got.DType).Values
	denormal, next := Denormal(got.DType, x)
	if !denormal {
		return false
	}
	g, a, b := got.Float(i), want.Float(i), want.Float(i+slices.Index(all, next)-slices.Index(all, x))
	return Same(g, b, tol) || math.Min(a, b) <= g && g <= math.Max(a, b)
}

// Same reports whether two numbers are equal within a tolerance.
func Same(x, y, tol float64) bool {
	return testkit.Near(x, y, tol*max(1, math.Abs(y)))
}
