package session_test

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// TestEdgesOfOperators: attributes, sizes and numbers that few models have. The answers are those of ONNX Runtime 1.32.
func TestEdgesOfOperators(t *testing.T) {
	row := func(v ...float32) *tensor.Tensor { return elements(v, 1, 1, 1, len(v)) }
	ten := row(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	half := elements([]float32{0.5}, 1, 1, 1)
	lengths := tensor.New(tensor.Int32, 2)
	tensor.Values[int32](lengths)[0] = 1
	for i, c := range []struct {
		op       string
		domain   string
		version  int
		attrs    map[string]any
		in       []*tensor.Tensor
		constant []int // inputs that are initializers
		open     bool  // sizes are not stated
		out      int
		want     *tensor.Tensor
	}{
		// 10 elements by 0.7 are 7 in float32, and 6.99 in float64
		{op: "Resize", version: 13, in: []*tensor.Tensor{ten, nil, row4(0.7)}, constant: []int{2}, want: row(0, 2, 3, 4, 6, 7, 9)},
		{op: "Resize", version: 13, in: []*tensor.Tensor{ten, nil, row4(0.7)}, constant: []int{2}, open: true, want: row(0, 2, 3, 4, 6, 7, 9)},
		// before version 11, axes that become shorter round up
		{op: "Resize", version: 10, in: []*tensor.Tensor{ten, row4(0.6)}, constant: []int{1}, want: row(0, 2, 4, 5, 7, 9)},
		{op: "Resize", version: 10, in: []*tensor.Tensor{ten, row4(0.6)}, constant: []int{1}, open: true, want: row(0, 2, 4, 5, 7, 9)},
		{op: "Resize", version: 10, in: []*tensor.Tensor{row(1, 2), row4(2.5)}, constant: []int{1}, want: row(1, 1, 1, 2, 2)},
		{op: "Resize", version: 10, in: []*tensor.Tensor{row(1, 2), row4(2)}, constant: []int{1}, want: row(1, 1, 2, 2)},
		{op: "Squeeze", version: 13, in: []*tensor.Tensor{elements([]float32{1, 2}, 1, 2, 1), elements([]int64{}, 0)}, constant: []int{1}, want: elements([]float32{1, 2}, 2)},
		{op: "Split", version: 18, attrs: map[string]any{"num_outputs": 3}, in: []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5, 6, 7}, 7)}, open: true, out: 2, want: elements([]float32{7}, 1)},
		{op: "Pow", version: 15, in: []*tensor.Tensor{elements([]int64{200000001, -3, 3037000501}, 3), elements([]int64{2})}, constant: []int{1}, want: elements([]int64{40000000400000001, 9, -9223372030635300615}, 3)},
		{op: "Pow", version: 15, in: []*tensor.Tensor{elements([]int64{2000001, -3}, 2), elements([]int64{3})}, constant: []int{1}, want: elements([]int64{8000012000006000001, -27}, 2)},
		{op: "Shrink", version: 9, attrs: map[string]any{"lambd": float32(1.5), "bias": float32(1.5)}, in: []*tensor.Tensor{elements([]int64{-3, -2, -1, 0, 1, 2, 3}, 7)}, want: elements([]int64{-1, 0, 0, 0, 0, 0, 1}, 7)},
		{op: "Shrink", version: 9, attrs: map[string]any{"lambd": float32(1.5)}, in: []*tensor.Tensor{{DType: tensor.Uint8, Shape: []int{3}, Bytes: []byte{1, 2, 200}}}, want: &tensor.Tensor{DType: tensor.Uint8, Shape: []int{3}, Bytes: []byte{0, 2, 200}}},
		{op: "Mod", version: 13, in: []*tensor.Tensor{tensor.Scalar(uint64(1<<63 + 5)), tensor.Scalar(uint64(7))}, want: tensor.Scalar(uint64(6))},
		{op: "Mod", version: 13, attrs: map[string]any{"fmod": 1}, in: []*tensor.Tensor{tensor.Scalar(uint64(1<<63 + 5)), tensor.Scalar(uint64(7))}, want: tensor.Scalar(uint64(6))},
		{op: "Cast", version: 13, attrs: map[string]any{"to": 8}, in: []*tensor.Tensor{booleans(1, 0)}, want: &tensor.Tensor{DType: tensor.String, Shape: []int{2}, Strings: [][]byte{[]byte("1"), []byte("0")}}},
		{op: "Gemm", version: 13, attrs: map[string]any{"beta": float32(0)}, in: []*tensor.Tensor{elements([]float32{2}, 1, 1), elements([]float32{3}, 1, 1), elements([]float32{float32(math.NaN())}, 1)}, want: elements([]float32{6}, 1, 1)},
		{op: "NonZero", version: 13, in: []*tensor.Tensor{elements([]float32{3})}, want: elements([]int64{0}, 1, 1)},
		{op: "NonZero", version: 13, in: []*tensor.Tensor{elements([]float32{0})}, want: elements([]int64{}, 1, 0)},
		{op: "Range", version: 11, in: []*tensor.Tensor{elements([]int64{0}), elements([]int64{-3}), elements([]int64{1})}, constant: []int{0, 2}, want: elements([]int64{}, 0)},
		// the number of steps is a quotient of float64 here, and of float32 in TensorFlow
		{op: "Range", version: 11, in: []*tensor.Tensor{elements([]float32{0}), elements([]float32{0.3}), elements([]float32{0.1})}, want: elements([]float32{0, 0.1, 0.2, 0.3}, 4)},
		// a row without steps ends with zeros
		{op: "RNN", version: 14, attrs: map[string]any{"hidden_size": 1}, in: []*tensor.Tensor{elements([]float32{1, 1}, 1, 2, 1), half, half, nil, lengths, elements([]float32{0, 5}, 1, 2, 1)}, out: 1,
			want: elements([]float32{0.46211717, 0}, 1, 2, 1)},
		{op: "Imputer", domain: "ai.onnx.ml", version: 3, attrs: map[string]any{"imputed_value_int64s": []int{1<<24 + 1}, "replaced_value_int64": -1}, in: []*tensor.Tensor{elements([]int64{-1, 3}, 2, 1)}, want: elements([]int64{1<<24 + 1, 3}, 2, 1)},
		// numbers of one target stay as they are, whatever post_transform says, and LOGISTIC is for the score of one class, too
		{op: "LinearRegressor", domain: "ai.onnx.ml", version: 3, attrs: map[string]any{"coefficients": []float32{0.5}, "post_transform": "LOGISTIC"}, in: []*tensor.Tensor{elements([]float32{4}, 1, 1)}, want: elements([]float32{2}, 1, 1)},
		{op: "LinearClassifier", domain: "ai.onnx.ml", version: 3, attrs: map[string]any{"coefficients": []float32{0.5}, "classlabels_ints": []int{7, 8}, "post_transform": "LOGISTIC"}, in: []*tensor.Tensor{elements([]float32{4}, 1, 1)}, out: 1,
			want: elements([]float32{0.11920292, 0.8807971}, 1, 2)},
		{op: "LinearClassifier", domain: "ai.onnx.ml", version: 3, attrs: map[string]any{"coefficients": []float32{0.5}, "classlabels_ints": []int{7, 8}, "post_transform": "SOFTMAX"}, in: []*tensor.Tensor{elements([]float32{4}, 1, 1)}, out: 1,
			want: elements([]float32{-1, 2}, 1, 2)},
		{op: "TreeEnsembleRegressor", domain: "ai.onnx.ml", version: 3, attrs: oneTree("target", map[string]any{"n_targets": 1, "post_transform": "LOGISTIC"}), in: []*tensor.Tensor{elements([]float32{0, 1}, 2, 1)}, want: elements([]float32{0.25, 2}, 2, 1)},
		// a target that no leaf of a row has a weight for has no base value either
		{op: "TreeEnsembleRegressor", domain: "ai.onnx.ml", version: 3, attrs: oneTree("target", map[string]any{"n_targets": 2, "target_ids": []int{0, 1}, "base_values": []float32{10, 20}}), in: []*tensor.Tensor{elements([]float32{0, 1}, 2, 1)}, want: elements([]float32{10.25, 0, 0, 22}, 2, 2)},
		{op: "TreeEnsembleRegressor", domain: "ai.onnx.ml", version: 3, attrs: oneTree("target", map[string]any{"n_targets": 2, "base_values": []float32{10, 20}}), in: []*tensor.Tensor{elements([]float32{0, 1}, 2, 1)}, want: elements([]float32{10.25, 0, 12, 0}, 2, 2)},
		{op: "TreeEnsembleClassifier", domain: "ai.onnx.ml", version: 3, attrs: oneTree("class", map[string]any{"classlabels_int64s": []int{0, 1}, "post_transform": "LOGISTIC"}), in: []*tensor.Tensor{elements([]float32{0, 1}, 2, 1)}, out: 1,
			want: elements([]float32{0.4378235, 0.5621765, 0.11920292, 0.8807971}, 2, 2)},
		{op: "TreeEnsembleClassifier", domain: "ai.onnx.ml", version: 3, attrs: oneTree("class", map[string]any{"classlabels_int64s": []int{0, 1}}), in: []*tensor.Tensor{elements([]float32{0, 1}, 2, 1)}, out: 1,
			want: elements([]float32{0.75, 0.25, -1, 2}, 2, 2)},
	} {
		t.Run(fmt.Sprint(i, c.op), func(t *testing.T) {
			outputs := []string{"a", "b", "c"}[:max(c.out, 0)]
			node := onnx.Node{Op: c.op, Domain: c.domain, Outputs: append(append([]string{}, outputs...), "y"), Attrs: c.attrs}
			m := onnx.Model{Opsets: map[string]int{"": 17, c.domain: c.version}, Graph: onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: c.want.DType, Unranked: true}}}}
			feeds := append([]*tensor.Tensor{}, c.in...)
			for k, v := range c.in {
				name := fmt.Sprintf("x%d", k)
				if v == nil {
					name = ""
				}
				node.Inputs = append(node.Inputs, name)
			}
			for _, k := range c.constant {
				m.Graph.Initializers = append(m.Graph.Initializers, onnx.Initializer{Name: fmt.Sprintf("x%d", k), Tensor: c.in[k]})
				feeds[k] = nil
			}
			m.Graph.Nodes = []onnx.Node{node}
			runONNX(t, m, feeds, func(k int) (dims []onnx.Dim) {
				for axis, n := range feeds[k].Shape {
					if dims = append(dims, onnx.Dim{Size: n}); c.open {
						dims[axis] = onnx.Dim{Symbol: fmt.Sprint("size", axis)}
					}
				}
				return dims
			}, c.want)
		})
	}
}

// row4 are scales of images that change their last size.
func row4(scale float32) *tensor.Tensor { return elements([]float32{1, 1, 1, scale}, 4) }

// oneTree are the attributes of a tree of two leaves for one target or class: 0.25 where the only feature is at most 0.5, and else 2.
func oneTree(kind string, attrs map[string]any) map[string]any {
	tree := map[string]any{"nodes_treeids": []int{0, 0, 0}, "nodes_nodeids": []int{0, 1, 2}, "nodes_featureids": []int{0, 0, 0}, "nodes_values": []float32{0.5, 0, 0}, "nodes_modes": []string{"BRANCH_LEQ", "LEAF", "LEAF"},
		"nodes_truenodeids": []int{1, 0, 0}, "nodes_falsenodeids": []int{2, 0, 0}, kind + "_treeids": []int{0, 0}, kind + "_nodeids": []int{1, 2}, kind + "_ids": []int{0, 0}, kind + "_weights": []float32{0.25, 2}}
	maps.Copy(tree, attrs)
	return tree
}

// TestLoopWithoutRounds: what a loop stacks is there without rounds, too: sizes that are open are 0 then, as in ONNX Runtime.
func TestLoopWithoutRounds(t *testing.T) {
	rows := []onnx.Dim{{Symbol: "n"}, {Size: 2}}
	body := &onnx.Graph{Inputs: []onnx.Value{{Name: "i", DType: tensor.Int64}, {Name: "c", DType: tensor.Bool}, {Name: "s", DType: tensor.Float32, Dims: rows}},
		Nodes: []onnx.Node{{Op: "Neg", Inputs: []string{"s"}, Outputs: []string{"o"}}}, Outputs: []onnx.Value{{Name: "c", DType: tensor.Bool}, {Name: "s", DType: tensor.Float32}, {Name: "o", DType: tensor.Float32}}}
	x := elements([]float32{1, 2}, 1, 2)
	for rounds, want := range map[int64]*tensor.Tensor{0: elements([]float32{}, 0, 0, 2), -3: elements([]float32{}, 0, 0, 2), 2: elements([]float32{-1, -2, -1, -2}, 2, 1, 2)} {
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
				Nodes: []onnx.Node{{Op: "Loop", Inputs: []string{"x1", "", "x0"}, Outputs: []string{"end", "y"}, Attrs: map[string]any{"body": body}}}}}
			runONNX(t, m, []*tensor.Tensor{x, elements([]int64{rounds})}, func(i int) []onnx.Dim { return [][]onnx.Dim{rows, nil}[i] }, want)
		})
	}
}
