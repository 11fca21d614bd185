package session_test

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// TestRandomOperators: random numbers have the mean, deviation, limits, type and shape that the node states. With a seed they are the
// same in each session; without one they differ.
func TestRandomOperators(t *testing.T) {
	const n = 20000
	ones, odds := make([]float32, n), make([]float32, n)
	for i := range ones {
		ones[i], odds[i] = 1, 0.25
	}
	logits := elements([]float32{float32(math.Log(0.25)), float32(math.Inf(-1)), float32(math.Log(0.75))}, 1, 3)
	for _, c := range []struct {
		op                         string
		in                         *tensor.Tensor
		attrs                      map[string]any
		mean, deviation, low, high float64
		dtype                      tensor.DType
		shape                      []int
	}{
		{"RandomNormal", nil, map[string]any{"shape": []int{n / 2, 2}}, 0, 1, -6, 6, tensor.Float32, []int{n / 2, 2}},
		{"RandomNormal", nil, map[string]any{"shape": []int{n}, "mean": float32(3), "scale": float32(0.5), "dtype": 11}, 3, 0.5, 0, 6, tensor.Float64, []int{n}},
		{"RandomNormalLike", elements(ones, n), map[string]any{"scale": float32(2)}, 0, 2, -12, 12, tensor.Float32, []int{n}},
		{"RandomUniform", nil, map[string]any{"shape": []int{n}, "low": float32(-1), "high": float32(3)}, 1, 4 / math.Sqrt(12), -1, 3, tensor.Float32, []int{n}},
		{"RandomUniformLike", elements(ones, 1, n), map[string]any{"dtype": 10}, 0.5, 1 / math.Sqrt(12), 0, 1, tensor.Float16, []int{1, n}},
		{"Bernoulli", elements(odds, n), nil, 0.25, math.Sqrt(0.25 * 0.75), 0, 1, tensor.Float32, []int{n}},
		{"Bernoulli", elements(odds, n), map[string]any{"dtype": 6}, 0.25, math.Sqrt(0.25 * 0.75), 0, 1, tensor.Int32, []int{n}},
		{"Multinomial", logits, map[string]any{"sample_size": n}, 1.5, math.Sqrt(0.75), 0, 2, tensor.Int32, []int{1, n}},
	} {
		t.Run(c.op, func(t *testing.T) {
			draw := func(seed ...float32) *tensor.Tensor {
				attrs := map[string]any{}
				for k, v := range c.attrs {
					attrs[k] = v
				}
				if seed != nil {
					attrs["seed"] = seed[0]
				}
				node := onnx.Node{Op: c.op, Outputs: []string{"y"}, Attrs: attrs}
				var in []*tensor.Tensor
				if c.in != nil {
					in, node.Inputs = append(in, c.in), []string{"x0"}
				}
				m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{node}, Outputs: []onnx.Value{{Name: "y", DType: c.dtype, Unranked: true}}}}
				got, err := answerONNX(t, m, in, func(i int) []onnx.Dim { return dimsLike(in[i], "", i) })
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			got := draw()
			if got.DType != c.dtype || !slices.Equal(got.Shape, c.shape) {
				t.Fatalf("got %v %v, expected %v %v", got.DType, got.Shape, c.dtype, c.shape)
			}
			sum, squares := 0.0, 0.0
			for i := range n {
				v := got.Float(i)
				if v < c.low || v > c.high || c.op == "Multinomial" && v == 1 {
					t.Fatalf("drew %v", v)
				}
				sum, squares = sum+v, squares+v*v
			}
			mean := sum / n
			deviation := math.Sqrt(squares/n - mean*mean)
			if math.Abs(mean-c.mean) > 6*c.deviation/math.Sqrt(n) || math.Abs(deviation/c.deviation-1) > 0.05 {
				t.Errorf("mean %v and deviation %v, expected %v and %v", mean, deviation, c.mean, c.deviation)
			}
			if string(got.Bytes) == string(draw().Bytes) {
				t.Error("two sessions drew the same without a seed")
			}
			seeded := draw(0)
			if string(seeded.Bytes) != string(draw(0).Bytes) || string(seeded.Bytes) == string(draw(1).Bytes) {
				t.Error("numbers do not follow the seed")
			}
		})
	}
}

// TestHugeDrawsAreRefused: a model of a few bytes does not fill the memory.
func TestHugeDrawsAreRefused(t *testing.T) {
	for _, node := range []onnx.Node{
		{Op: "RandomNormal", Attrs: map[string]any{"shape": []int{1 << 20, 1 << 20}}},
		{Op: "Multinomial", Inputs: []string{"w"}, Attrs: map[string]any{"sample_size": 1<<31 - 1}},
	} {
		t.Run(node.Op, func(t *testing.T) {
			node.Outputs = []string{"y"}
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{node}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
				Initializers: []onnx.Initializer{{Name: "w", Tensor: elements(make([]float32, 4096), 1024, 4)}}}}
			s, err := openONNX(t, m)
			if err != nil {
				return
			}
			defer s.Close()
			server := budget.NewServer(budget.Limits{Server: 1 << 28})
			defer server.Close()
			account := server.Open()
			defer account.Close()
			ctx := budget.With(t.Context(), account)
			if _, err := s.Run(ctx, nil, []string{s.Signatures()[savedmodel.DefaultSignature].GetOutputs()["y"].GetName()}); err == nil {
				t.Error("it was drawn")
			}
		})
	}
}

// TestDropout: in training, elements become 0 with the given ratio, and the others are scaled up; otherwise nothing changes.
func TestDropout(t *testing.T) {
	const n = 20000
	in := tensor.New(tensor.Float32, n)
	for i := range n {
		tensor.Values[float32](in)[i] = float32(i + 1)
	}
	truth := func(v bool) *tensor.Tensor { return tensor.Scalar(v) }
	for _, c := range []struct {
		name     string
		ratio    *tensor.Tensor
		training *tensor.Tensor
		seed     int
		want     float64 // the fraction that is dropped
	}{
		{"by default", nil, truth(true), 3, 0.5},
		{"a quarter", tensor.Scalar(float32(0.25)), truth(true), 0, 0.25},
		{"nothing", tensor.Scalar(float32(0)), truth(true), 1, 0},
		{"no training", tensor.Scalar(float32(0.25)), truth(false), 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			draw := func(output string, d tensor.DType) *tensor.Tensor {
				node := onnx.Node{Op: "Dropout", Inputs: []string{"x0", "x1", "x2"}, Outputs: []string{"rest", "mask"}, Attrs: map[string]any{"seed": c.seed}}
				if c.ratio == nil {
					node.Inputs[1] = ""
				}
				last := onnx.Node{Op: "Identity", Inputs: []string{output}, Outputs: []string{"y"}}
				m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{node, last}, Outputs: []onnx.Value{{Name: "y", DType: d, Unranked: true}}}}
				all := []*tensor.Tensor{in, c.ratio, c.training}
				got, err := answerONNX(t, m, all, func(i int) []onnx.Dim { return dimsLike(all[i], "", i) })
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			y, mask := draw("rest", tensor.Float32), draw("mask", tensor.Bool)
			dropped := 0
			for i := range n {
				want := float64(i+1) / (1 - c.want)
				if mask.Bytes[i] == 0 {
					want, dropped = 0, dropped+1
				}
				if math.Abs(y.Float(i)-want) > 1e-3*want {
					t.Fatalf("element %d: got %v, expected %v", i, y.Float(i), want)
				}
			}
			if math.Abs(float64(dropped)/n-c.want) > 0.02 {
				t.Errorf("%d of %d are dropped, expected %v", dropped, n, c.want)
			}
		})
	}
}
