package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// openDims are sizes that a model leaves open, so that the rank of what Squeeze makes of them is not known.
func openDims(v *tensor.Tensor) func(int) []onnx.Dim {
	return func(i int) (dims []onnx.Dim) {
		for k := range v.Shape {
			dims = append(dims, onnx.Dim{Symbol: fmt.Sprint("d", i, "_", k)})
		}
		return dims
	}
}

// TestOperatorsOfUnknownRank: an operator whose inputs can only have one rank takes values whose rank is not known, as behind the Squeeze of a
// branch.
func TestOperatorsOfUnknownRank(t *testing.T) {
	all := elements([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1, 2, 3, 2)
	for name, c := range map[string]struct {
		nodes []onnx.Node // from u [2, 3, 2] to y
		inits []onnx.Initializer
		want  *tensor.Tensor
	}{
		"Conv": {
			nodes: []onnx.Node{{Op: "Conv", Inputs: []string{"u", "w"}, Outputs: []string{"y"}}},
			inits: []onnx.Initializer{{Name: "w", Tensor: elements([]float32{1, 10, 100}, 1, 3, 1)}}, want: elements([]float32{531, 642, 1197, 1308}, 2, 1, 2)},
		"ConvTranspose": {
			nodes: []onnx.Node{{Op: "ConvTranspose", Inputs: []string{"u", "w"}, Outputs: []string{"y"}}},
			inits: []onnx.Initializer{{Name: "w", Tensor: elements([]float32{1, 10, 100}, 3, 1, 1)}}, want: elements([]float32{531, 642, 1197, 1308}, 2, 1, 2)},
		"MaxPool": {nodes: []onnx.Node{{Op: "MaxPool", Inputs: []string{"u"}, Outputs: []string{"y"}, Attrs: map[string]any{"kernel_shape": []int{2}}}}, want: elements([]float32{2, 4, 6, 8, 10, 12}, 2, 3, 1)},
		"RNN": {
			nodes: []onnx.Node{{Op: "RNN", Inputs: []string{"u", "w", "r"}, Outputs: []string{"", "y"}, Attrs: map[string]any{"hidden_size": 1, "activations": []string{"Relu"}}}},
			inits: []onnx.Initializer{{Name: "w", Tensor: elements([]float32{1, 10}, 1, 1, 2)}, {Name: "r", Tensor: elements([]float32{1}, 1, 1, 1)}}, want: elements([]float32{21 + 87, 43 + 109, 65 + 131}, 1, 3, 1)},
		"Unsqueeze": {
			nodes: []onnx.Node{{Op: "Unsqueeze", Inputs: []string{"u", "axes"}, Outputs: []string{"y"}}},
			inits: []onnx.Initializer{{Name: "axes", Tensor: elements([]int64{-3, 0, -1}, 3)}}, want: elements(tensor.Values[float32](all), 1, 2, 3, 1, 2, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Initializers: c.inits, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
				Nodes: append([]onnx.Node{{Op: "Squeeze", Inputs: []string{"x0"}, Outputs: []string{"u"}}}, c.nodes...)}}
			runONNX(t, m, []*tensor.Tensor{all}, openDims(all), c.want)
		})
	}
}

// TestSizesThatMayBeOne: a branch on whether a size is 1 is taken for each request, where only data says the size.
func TestSizesThatMayBeOne(t *testing.T) {
	squeezed := &onnx.Graph{Name: "yes", Nodes: []onnx.Node{{Op: "Squeeze", Inputs: []string{"n", "last"}, Outputs: []string{"a"}}}, Outputs: []onnx.Value{{Name: "a", DType: tensor.Int64, Unranked: true}}}
	same := &onnx.Graph{Name: "no", Nodes: []onnx.Node{{Op: "Identity", Inputs: []string{"n"}, Outputs: []string{"b"}}}, Outputs: []onnx.Value{{Name: "b", DType: tensor.Int64, Unranked: true}}}
	for count, want := range []*tensor.Tensor{elements([]int64{}, 1, 0), elements([]int64{0}, 1), elements([]int64{0, 1}, 1, 2)} {
		x := elements(append(slices.Repeat([]float32{1}, count), make([]float32, 3-count)...), 3)
		m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
			Initializers: []onnx.Initializer{{Name: "last", Tensor: elements([]int64{1}, 1)}},
			Outputs:      []onnx.Value{{Name: "y", DType: tensor.Int64, Unranked: true}},
			Nodes: []onnx.Node{{Op: "NonZero", Inputs: []string{"x0"}, Outputs: []string{"n"}}, {Op: "Shape", Inputs: []string{"n"}, Outputs: []string{"s"}},
				{Op: "Gather", Inputs: []string{"s", "last"}, Outputs: []string{"size"}}, {Op: "Equal", Inputs: []string{"size", "last"}, Outputs: []string{"is"}},
				{Op: "If", Inputs: []string{"is"}, Outputs: []string{"y"}, Attrs: map[string]any{"then_branch": squeezed, "else_branch": same}}}}}
		runONNX(t, m, []*tensor.Tensor{x}, openDims(x), want)
	}
}

// TestLongNamesOfNodes: the nodes that an operator becomes have names of their own, where the operator's name is long.
func TestLongNamesOfNodes(t *testing.T) {
	long := strings.Repeat("convolution/", 25)
	x := elements([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
		Initializers: []onnx.Initializer{{Name: "shape", Tensor: elements([]int64{-1, 2}, 2)}},
		Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Nodes: []onnx.Node{{Op: "Reshape", Name: long, Inputs: []string{"x0", "shape"}, Outputs: []string{long}},
			{Op: "Transpose", Name: long + "transpose", Inputs: []string{long}, Outputs: []string{"y"}}}}}
	runONNX(t, m, []*tensor.Tensor{x}, openDims(x), elements([]float32{1, 3, 5, 2, 4, 6}, 2, 3))
}

// TestSignalsWithoutParts: STFT takes a real signal without a last axis for the parts of numbers, as ONNX Runtime does.
func TestSignalsWithoutParts(t *testing.T) {
	x := elements([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)
	for _, complete := range []bool{false, true} {
		m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
			Initializers: []onnx.Initializer{{Name: "step", Tensor: elements([]int64{4}, 1)}, {Name: "length", Tensor: elements([]int64{4}, 1)}, {Name: "axes", Tensor: elements([]int64{-1}, 1)}},
			Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
		signal := "x0"
		if complete {
			signal = "column"
			m.Graph.Nodes = []onnx.Node{{Op: "Unsqueeze", Inputs: []string{"x0", "axes"}, Outputs: []string{signal}}}
		}
		m.Graph.Nodes = append(m.Graph.Nodes, onnx.Node{Op: "STFT", Inputs: []string{signal, "step", "", "length"}, Outputs: []string{"y"}})
		runONNX(t, m, []*tensor.Tensor{x}, openDims(x), elements([]float32{10, 0, -2, 2, -2, 0, 26, 0, -2, 2, -2, 0}, 1, 2, 3, 2))
	}
}
