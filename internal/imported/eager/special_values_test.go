package eager

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestSmallAndLarge: special functions where a plain formula loses all digits or takes long. The values are TensorFlow 2.15's.
func TestSmallAndLarge(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"I1e(1e-20)", besselI1e(1e-20), 5e-21},
		{"I1e(-3)", besselI1e(-3.0), -0.19682671329730085},
		{"I0e(39.9)", besselI0e(39.9), 0.06335803550042245},
		{"I0e(40.1)", besselI0e(40.1), 0.06319882471018294},
		{"I1e(40.1)", besselI1e(40.1), 0.062405769073368138},
		{"K0(1e-300)", besselK0(1e-300), 690.8914594138721},
		{"K0(9e-9)", besselK0(9e-9), 18.641972775268606},
		{"K0(1.1e-8)", besselK0(1.1e-8), 18.441302079806448},
		{"K1(9e-9)", besselK1(9e-9), 1 / 9e-9},
		{"Ndtri(1e-20)", quantile(1e-20), -9.262340089798408},
		{"Ndtri(1e-300)", quantile(1e-300), -37.0470962993612},
		{"Ndtri(0.9e-3)", quantile(0.9e-3), -3.121389149359866},
		{"Ndtri(1.1e-3)", quantile(1.1e-3), -3.0618141517617588},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-12*math.Abs(c.want)) {
			t.Errorf("%s: got %v, expected %v", c.name, c.got, c.want)
		}
	}
	if quantile(0.0) != math.Inf(-1) || !math.IsNaN(quantile(-1.0)) || !math.IsInf(besselK0(0.0), 1) {
		t.Error("edges")
	}
}

// TestTopOfNaN: what has no order stays where TensorFlow leaves it.
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
