package edgecases

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// Differences compares a result with TensorFlow's and returns the elements that are not the same: NaN and infinities must be,
// other floats may differ by tol of their size, or of 1 where that is larger. The answer may be of the other float type, of the
// same numbers.
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

// Between reports whether element i of a result is what a denormal operand x, drawn by All, gives: TensorFlow takes it for zero,
// we do not. So the result lies between TensorFlow's for it and its for the normal number next to it.
func Between(got, want *tensor.Tensor, i int, x float64, tol float64) bool {
	all := All(got.DType).Values
	denormal, next := Denormal(got.DType, x)
	if !denormal {
		return false
	}
	g, a, b := got.Float(i), want.Float(i), want.Float(i+slices.Index(all, next)-slices.Index(all, x))
	return Same(g, b, tol) || math.Min(a, b) <= g && g <= math.Max(a, b)
}

// Same reports whether two numbers are the same to a tolerance.
func Same(x, y, tol float64) bool {
	return testkit.Near(x, y, tol*max(1, math.Abs(y)))
}
