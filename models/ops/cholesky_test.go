package ops_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TestGradientWithoutTriangle: a matrix that is not positive definite has NaN as its gradient, which does not affect other matrices of the
// batch. The numbers are from TensorFlow 2.15.
func TestGradientWithoutTriangle(t *testing.T) {
	k := opCase{fn: "Cholesky", in: []operand{batch(2, 2)}, build: func(c models.Context, in []*G.Node) *G.Node { return ops.Cholesky(c, in[0]) }}
	x := &array{shape: []int{2, 2, 2}, data: []float64{2, 0.5, 0.5, 1, 1, 2, 2, 1}}
	ones := &array{shape: x.shape, data: []float64{1, 1, 1, 1, 1, 1, 1, 1}}
	got := k.run(t, k.program(t, tensor.Float64), device.NewHost(), tensor.Float64, []*array{x}, ones)[1]
	want := []float64{0.29857272, 0.2199228, 0.2199228, 0.5345225}
	for i, v := range got.data {
		if i < len(want) && math.Abs(v-want[i]) > 1e-7 || i >= len(want) && !math.IsNaN(v) {
			t.Errorf("element %d: %v, expected %v", i, v, append(want, math.NaN())[min(i, len(want))])
		}
	}
}
