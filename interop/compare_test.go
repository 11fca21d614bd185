package interop_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// within compares numbers one by one, relative to their size.
func within(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d, want %d", what, len(got), len(want))
	}
	worst, at := 0.0, 0
	for i := range want {
		if d := math.Abs(got[i]-want[i]) / math.Abs(want[i]); got[i] != want[i] && !(d <= worst) {
			worst, at = d, i
		}
	}
	t.Logf("%s: largest relative difference of %d: %.2g", what, len(want), worst)
	if !(worst <= tolerance) {
		t.Errorf("%s: number %d is %v, want %v: relative difference %.2g, allowed %g", what, at, got[at], want[at], worst, tolerance)
	}
}

// closeTo compares tensors element by element, relative to the largest.
func closeTo(t *testing.T, what string, got, want *tensor.Tensor, tolerance float64) {
	t.Helper()
	if got.DType != want.DType || got.Len() != want.Len() {
		t.Fatalf("%s: got %v%v, want %v%v", what, got.DType, got.Shape, want.DType, want.Shape)
	}
	size, worst := 1.0, 0.0
	for i := range want.Len() {
		g, w := got.Float(i), want.Float(i)
		if !math.IsInf(w, 0) {
			size = max(size, math.Abs(w))
		}
		if d := math.Abs(g - w); g != w && !(d <= worst) { // an infinity differs from everything else by infinity
			worst = d
		}
	}
	t.Logf("%s: largest difference %.2g, largest value %.3g", what, worst, size)
	if !(worst <= tolerance*size) {
		t.Errorf("%s: differs by %v, allowed %v", what, worst, tolerance*size)
	}
}
