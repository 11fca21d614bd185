package session

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestCountsThatNobodyChecked: feature counts in a damaged model are limited to the node's inputs, and to memory.
func TestCountsThatNobodyChecked(t *testing.T) {
	key := &graph.Node{Op: "Const", Attrs: graph.Attrs{"value": &tensor.Tensor{DType: tensor.String, Shape: []int{1}, Strings: [][]byte{[]byte("k")}}}}
	for _, count := range []int64{math.MinInt64, -1, 0, 1, 5, math.MaxInt64} {
		n := &graph.Node{Op: "ParseExample", Attrs: graph.Attrs{"Nsparse": count, "Ndense": count}}
		for range 4 {
			n.Inputs = append(n.Inputs, key.Out(0))
		}
		dense, parses := denseKeys(n)
		if sparse := sparseKeys(n); !parses || len(dense) > 4 || len(sparse) > 4 {
			t.Errorf("%d: %d dense and %d sparse keys of 4 inputs", count, len(dense), len(sparse))
		}
	}
	for _, dims := range [][]int{{1<<16 - 1, 1<<16 - 1, 1<<16 - 1, 1<<16 - 1}, {math.MaxInt, 3}, {0, 7}, {-2, 3}} {
		if f := featureOf(tensor.Float32, graph.ShapeOf(dims...)); len(f.GetFloatList().GetValue()) > 1<<20 {
			t.Errorf("a feature of shape %v has %d values", dims, len(f.GetFloatList().GetValue()))
		}
	}
}
