package ops_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

// The batch may be written as a number even if another dimension is inferred.
func TestReshapeInfersBesideTheBatch(t *testing.T) {
	p := modeltest.New(t, models.Options{}, func(b *models.Builder) []*G.Node {
		x := b.Input("x", tensor.Float32, b.Batch(), 2, 3)
		return []*G.Node{ops.Reshape(b, x, x.Shape()[0], -1)}
	})
	got := p.Host(t, 2, modeltest.Tensor(tensor.Float32, make([]float64, 12), 2, 2, 3))[0]
	if d := cmp.Diff([]int{2, 6}, got.Shape); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int32{-1, 6}, constants(p.Graph)["Reshape/shape"]); d != "" {
		t.Error(d)
	}
}

// A caller's slice may change once the op is made.
func TestOpsKeepTheirArguments(t *testing.T) {
	p := modeltest.New(t, models.Options{}, func(b *models.Builder) []*G.Node {
		x, size := b.Input("x", tensor.Float32, b.Batch(), 4), []int{-1, 2}
		y := ops.Slice(b, x, []int{0, 0}, size)
		size[1] = 1
		return []*G.Node{y}
	})
	if d := cmp.Diff([]int32{-1, 2}, constants(p.Graph)["Slice/size"]); d != "" {
		t.Error(d)
	}
}

func constants(g *graph.Graph) map[string][]int32 {
	out := map[string][]int32{}
	for _, n := range g.Nodes() {
		if t, ok := n.Attrs["value"].(*tensor.Tensor); ok {
			out[n.Name] = tensor.Values[int32](t)
		}
	}
	return out
}
