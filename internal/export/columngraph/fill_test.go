package columngraph

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestFilledNumbers: an exported model replaces NaN by the replacement for missing numbers.
func TestFilledNumbers(t *testing.T) {
	c := &feature.Numeric{Key: "x", Shape: []int{2}, Default: []float32{30, 7}, FillNaN: true, Normalizer: feature.Normalizer{Mean: []float32{20, 0}, Std: []float32{10, 1}}}
	plan, err := feature.New(feature.Columns{Dense: []feature.Column{c}})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, feeds, err := Placeholders(b, []inputs.Column{{Name: "x", DType: tensor.Float32, Shape: []int{2}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	x := tensor.New(tensor.Float32, 2, 2)
	copy(tensor.Values[float32](x), []float32{nan, nan, 40, 3})
	got, err := newGraphRun(t, b.Graph, e).run(map[graph.Output]*tensor.Tensor{feeds["x"]: x})
	if err != nil {
		t.Fatal(err)
	}
	out := e.Outputs[plan.Dense()[0].Values].Dense
	if v, want := tensor.Values[float32](got[out.Node][out.Index].T), []float32{1, 7, 2, 3}; !slices.Equal(v, want) {
		t.Errorf("got %v, expected %v", v, want)
	}
}
