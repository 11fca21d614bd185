package eager

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestTopOfNaN: values without an order stay where TensorFlow leaves them.
func TestTopOfNaN(t *testing.T) {
	n := &graph.Node{Op: "TopKV2", Name: "top", Attrs: graph.Attrs{"sorted": true, "T": tensor.Float32, "Tk": tensor.Int32, "index_type": tensor.Int32},
		Outputs: []graph.Type{{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}, {DType: tensor.Int32, Shape: graph.Shape{UnknownRank: true}}}}
	row := tensor.New(tensor.Float32, 1, 4)
	copy(tensor.Values[float32](row), []float32{1, float32(math.NaN()), float32(math.Inf(1)), -1})
	for k, want := range map[int32][]int32{2: {1, 2}, 4: {2, 0, 1, 3}} {
		out := []Value{{}, {}}
		f, err := Prepare(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := f(t.Context(), &Env{}, []Value{{T: row}, {T: tensor.Scalar(k)}}, out); err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[int32](out[1].T); !slices.Equal(got, want) {
			t.Errorf("%d largest: at %v, expected %v", k, got, want)
		}
	}
}
