package session_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// TestMasksOfAttention: com.microsoft's Attention hides keys by a mask of each row, by the places where keys end, and where they begin, and keys
// behind the query. The last are never seen; masked keys are where a query sees no others, as in ONNX Runtime.
func TestMasksOfAttention(t *testing.T) {
	const batch, length, heads, depth = 2, 3, 2, 2
	x := elements([]float32{1, 0.5, -1, 2, 0, 1, 1.5, -0.5, 2, 1, 0, -1, -1, 0, 0.5, 1, 1, 1, -2, 0, 0.5, -0.5, 1, 2}, batch, length, heads*depth)
	weights := tensor.New(tensor.Float32, heads*depth, 3*heads*depth)
	for i := range heads * depth { // queries, keys and values are the input
		for part := range 3 {
			tensor.Values[float32](weights)[i*3*heads*depth+part*heads*depth+i] = 1
		}
	}
	for name, c := range map[string]struct {
		mask   *tensor.Tensor
		causal int
		bias   func(row, query, key int) float64
	}{
		"rows": {elements([]int64{1, 1, 0, 0, 1, 1}, 2, 3), 0, func(row, _, key int) float64 { return masked(row == 0 && key == 2 || row == 1 && key == 0) }},
		"rows, causal": {elements([]int64{1, 1, 0, 0, 1, 1}, 2, 3), 1, func(row, query, key int) float64 {
			if key > query {
				return math.Inf(-1)
			}
			return masked(row == 0 && key == 2 || row == 1 && key == 0)
		}},
		"ends":           {elements([]int64{2, 3}, 2), 0, func(row, _, key int) float64 { return masked(row == 0 && key == 2) }},
		"ends and first": {elements([]int64{3, 2, 1, 0}, 4), 0, func(row, _, key int) float64 { return masked(row == 0 && key == 0 || row == 1 && key == 2) }},
	} {
		t.Run(name, func(t *testing.T) {
			places := make([]int32, c.mask.Len())
			for i := range places {
				places[i] = int32(c.mask.Float(i))
			}
			mask, err := tensor.FromSlice(places, c.mask.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
				Initializers: []onnx.Initializer{{Name: "w", Tensor: weights}, {Name: "b", Tensor: tensor.New(tensor.Float32, 3*heads*depth)}},
				Nodes: []onnx.Node{{Op: "Attention", Domain: "com.microsoft", Inputs: []string{"x0", "w", "b", "x1"}, Outputs: []string{"y"},
					Attrs: map[string]any{"num_heads": heads, "unidirectional": c.causal}}}}}
			in := []*tensor.Tensor{x, mask}
			runONNX(t, m, in, func(i int) []onnx.Dim { return dimsOf(in[i]) }, attended(x, heads, c.bias))
		})
	}
}

// TestUnidirectional: a query of MultiHeadAttention sees the keys before it and its own, and the last query sees all of them, as in ONNX
// Runtime (1.32, processor). Queries are 0, so a result is the mean of the values that the query sees.
func TestUnidirectional(t *testing.T) {
	for _, c := range []struct {
		queries, keys int
		want          []float32
	}{
		{1, 4, []float32{1.5}},
		{3, 3, []float32{0, 0.5, 1}},
		{3, 5, []float32{0, 0.5, 2}},
		{5, 3, []float32{0, 0.5, 1, 1, 1}},
	} {
		values := tensor.New(tensor.Float32, 1, c.keys, 1)
		for i := range tensor.Values[float32](values) {
			tensor.Values[float32](values)[i] = float32(i)
		}
		in := []*tensor.Tensor{tensor.New(tensor.Float32, 1, c.queries, 1), tensor.New(tensor.Float32, 1, c.keys, 1), values}
		m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
			Nodes: []onnx.Node{{Op: "MultiHeadAttention", Domain: "com.microsoft", Inputs: []string{"x0", "x1", "x2"}, Outputs: []string{"y"},
				Attrs: map[string]any{"num_heads": 1, "unidirectional": 1}}}}}
		runONNX(t, m, in, func(i int) []onnx.Dim { return dimsOf(in[i]) }, elements(c.want, 1, c.queries, 1))
	}
}

// masked is what a mask adds to a score.
func masked(hidden bool) float64 {
	if hidden {
		return -10000
	}
	return 0
}

func dimsOf(v *tensor.Tensor) (dims []onnx.Dim) {
	for _, n := range v.Shape {
		dims = append(dims, onnx.Dim{Size: n})
	}
	return dims
}

// attended is the attention of x [batch, length, heads*depth] to itself.
func attended(x *tensor.Tensor, heads int, bias func(row, query, key int) float64) *tensor.Tensor {
	y := tensor.New(tensor.Float32, x.Shape...)
	length, width := x.Shape[1], x.Shape[2]
	depth := width / heads
	for row := range x.Shape[0] {
		for h := range heads {
			at := func(place, i int) int { return (row*length+place)*width + h*depth + i }
			for q := range length {
				scores, most, sum := make([]float64, length), math.Inf(-1), 0.0
				for k := range length {
					for i := range depth {
						scores[k] += x.Float(at(q, i)) * x.Float(at(k, i)) / math.Sqrt(float64(depth))
					}
					scores[k] += bias(row, q, k)
					most = max(most, scores[k])
				}
				for k := range length {
					scores[k] = math.Exp(scores[k] - most)
					sum += scores[k]
				}
				for k := range length {
					for i := range depth {
						tensor.Values[float32](y)[at(q, i)] += float32(scores[k] / sum * x.Float(at(k, i)))
					}
				}
			}
		}
	}
	return y
}
