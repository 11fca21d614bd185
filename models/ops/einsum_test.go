package ops_test

import (
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

// A label that the result has three times makes the diagonal of a cube.
func TestEinsumLabelThrice(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 2, 3, 4}, 2, 2)
	p := modeltest.New(t, models.Options{DType: tensor.Float64}, func(b *models.Builder) []*G.Node {
		return []*G.Node{ops.Einsum(b, "ai->iaii", b.Input("x", tensor.Float64, b.Batch(), 2))}
	})
	got := modeltest.Floats(p.Host(t, 2, x)[0])
	if d := cmp.Diff([]float64{1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4}, got); d != "" {
		t.Error(d)
	}
}

// Places beyond 32 bits lie beyond the tensor, as large ones do.
func TestStridedSliceFarAway(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 2, 3, 4}, 2, 2)
	const far = 1 << 40
	p := modeltest.New(t, models.Options{DType: tensor.Float64}, func(b *models.Builder) []*G.Node {
		in := b.Input("x", tensor.Float64, b.Batch(), 2)
		return []*G.Node{ops.StridedSlice(b, in, ops.All, ops.Range{From: -far - 1, To: far + 1}), ops.StridedSlice(b, in, ops.All, ops.Range{From: far, To: -far, Step: -far})}
	})
	got := p.Host(t, 2, x)
	if d := cmp.Diff([][]float64{{1, 2, 3, 4}, {2, 4}}, [][]float64{modeltest.Floats(got[0]), modeltest.Floats(got[1])}); d != "" {
		t.Error(d)
	}
}
