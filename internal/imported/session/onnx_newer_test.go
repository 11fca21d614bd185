package session_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
)

// elements is a tensor with values and a shape.
func elements[T float32 | int64](v []T, shape ...int) *tensor.Tensor {
	t, err := tensor.FromSlice(v, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

// booleans is a vector of bytes 0 and 1.
func booleans(v ...byte) *tensor.Tensor {
	return &tensor.Tensor{DType: tensor.Bool, Shape: []int{len(v)}, Bytes: v}
}

// TestNewerOperators runs operators for which the installed package has no tests.
func TestNewerOperators(t *testing.T) {
	for _, c := range []struct {
		op    string
		attrs map[string]any
		in    []*tensor.Tensor
		want  *tensor.Tensor
	}{
		{"Swish", map[string]any{"alpha": float32(2)}, []*tensor.Tensor{elements([]float32{0, 1, -1}, 3)}, elements([]float32{0, 0.880797, -0.119203}, 3)},
		{"SwiGLU", nil, []*tensor.Tensor{elements([]float32{0, 1}, 2), elements([]float32{5, -2}, 2)}, elements([]float32{0, -1.4621172}, 2)},
		{"CumProd", map[string]any{"exclusive": 1, "reverse": 1}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{0})}, elements([]float32{6, 3, 1}, 3)},
		{"BitCast", map[string]any{"to": 7}, []*tensor.Tensor{tensor.Scalar(1.0)}, elements([]int64{1023 << 52})},
		{"BitCast", map[string]any{"to": 3}, []*tensor.Tensor{booleans(0, 1)}, &tensor.Tensor{DType: tensor.Int8, Shape: []int{2}, Bytes: []byte{0, 1}}},
		{"BitCast", map[string]any{"to": 9}, []*tensor.Tensor{{DType: tensor.Int8, Shape: []int{2}, Bytes: []byte{0, 1}}}, booleans(0, 1)},
		{"SpaceToDepth", map[string]any{"blocksize": 2, "mode": "CRD"}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 1, 2, 2, 2)}, elements([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8, 1, 1)},
		{"SpaceToDepth", map[string]any{"blocksize": 2}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 1, 2, 2, 2)}, elements([]float32{1, 5, 2, 6, 3, 7, 4, 8}, 1, 8, 1, 1)},
		{"BitShift", map[string]any{"direction": "RIGHT"}, []*tensor.Tensor{elements([]int64{-8, -8, 8, 8, -8}, 5), elements([]int64{1, 64, 64, -1, -1}, 5)}, elements([]int64{-4, -1, 0, 0, -1}, 5)},
		{"BitShift", map[string]any{"direction": "LEFT"}, []*tensor.Tensor{elements([]int64{-8, -8, 8}, 3), elements([]int64{1, 64, -1}, 3)}, elements([]int64{-16, 0, 0}, 3)},
		{"ScatterElements", map[string]any{"reduction": "mul"}, []*tensor.Tensor{booleans(1, 1, 0, 1), elements([]int64{0, 1, 1, 2}, 4), booleans(1, 1, 0, 1)}, booleans(1, 0, 0, 1)},
		{"ScatterND", map[string]any{"reduction": "mul"}, []*tensor.Tensor{booleans(1, 1, 0, 1), elements([]int64{0, -1, -1}, 3, 1), booleans(1, 0, 1)}, booleans(1, 1, 0, 0)},
		{"TensorScatter", nil, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5, 6}, 2, 3, 1), elements([]float32{7, 8, 9, 10}, 2, 2, 1), elements([]int64{1, 0}, 2)}, elements([]float32{1, 7, 8, 9, 10, 6}, 2, 3, 1)},
		{"TensorScatter", map[string]any{"mode": "circular"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 1, 3, 1), elements([]float32{7, 8}, 1, 2, 1), elements([]int64{2}, 1)}, elements([]float32{8, 2, 7}, 1, 3, 1)},
		{"DFT", map[string]any{"inverse": 1, "onesided": 1}, []*tensor.Tensor{elements([]float32{10, 0, -2, 2, -2, 0}, 1, 3, 2)}, elements([]float32{1, 2, 3, 4}, 1, 4, 1)},
		{"DFT", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 1, 3, 1), elements([]int64{2})}, elements([]float32{3, 0, -1, 0}, 1, 2, 2)},
		{"Range", nil, []*tensor.Tensor{elements([]int64{5}), elements([]int64{1}), elements([]int64{1})}, elements([]int64{}, 0)},
		{"Range", nil, []*tensor.Tensor{elements([]int64{1}), elements([]int64{5}), elements([]int64{-1})}, elements([]int64{}, 0)},
		{"Range", nil, []*tensor.Tensor{elements([]int64{5}), elements([]int64{0}), elements([]int64{-2})}, elements([]int64{5, 3, 1}, 3)},
		{"NegativeLogLikelihoodLoss", map[string]any{"ignore_index": 1 << 32}, []*tensor.Tensor{elements([]float32{-1, -2, -3, -4}, 2, 2), elements([]int64{0, 1}, 2)}, elements([]float32{2.5})},
		{"NegativeLogLikelihoodLoss", map[string]any{"ignore_index": 9}, []*tensor.Tensor{elements([]float32{-1, -2, -3, -4}, 2, 2), elements([]int64{9, 1}, 2)}, elements([]float32{4})},
		{"CenterCropPad", nil, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5, 6}, 2, 3), elements([]int64{3, 2}, 2)}, elements([]float32{1, 2, 4, 5, 0, 0}, 3, 2)},
		{"MaxPool", map[string]any{"kernel_shape": []int{2}, "strides": []int{2}, "pads": []int{1, 1}, "ceil_mode": 1}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5}, 1, 1, 5)}, elements([]float32{1, 3, 5}, 1, 1, 3)},
		{"MaxPool", map[string]any{"kernel_shape": []int{2, 2}, "strides": []int{2, 2}, "pads": []int{0, 0, 1, 1}, "ceil_mode": 1}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4}, 1, 1, 2, 2)}, elements([]float32{4}, 1, 1, 1, 1)},
		{"MaxPool", map[string]any{"kernel_shape": []int{1}, "strides": []int{3}, "ceil_mode": 1}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5}, 1, 1, 5)}, elements([]float32{1, 4}, 1, 1, 2)},
		{"LpPool", map[string]any{"kernel_shape": []int{1}, "strides": []int{3}, "ceil_mode": 1, "pads": []int{0, 2}}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5}, 1, 1, 5)}, elements([]float32{1, 4}, 1, 1, 2)},
		{"AveragePool", map[string]any{"kernel_shape": []int{2}, "strides": []int{3}, "ceil_mode": 1}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4}, 1, 1, 4)}, elements([]float32{1.5, 4}, 1, 1, 2)},
		{"AveragePool", map[string]any{"kernel_shape": []int{2}, "strides": []int{2}, "pads": []int{1, 1}, "ceil_mode": 1}, []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5}, 1, 1, 5)}, elements([]float32{1, 2.5, 4.5}, 1, 1, 3)},
		{"Attention", map[string]any{"is_causal": 1}, cached([]int64{3}), elements([]float32{4.5, 6}, 1, 1, 2, 1)},
		{"Attention", map[string]any{"is_causal": 1, "left_window_size": 1}, cached([]int64{3}), elements([]float32{4.5, 7.5}, 1, 1, 2, 1)},
		{"Attention", map[string]any{"right_window_size": 0}, cached([]int64{2}), elements([]float32{3, 4.5}, 1, 1, 2, 1)},
		{"Attention", nil, cached([]int64{0}), elements([]float32{0, 0}, 1, 1, 2, 1)},
		{"Attention", nil, append(cached([]int64{0})[:4], elements([]float32{1}, 1, 1, 1, 1), elements([]float32{0}, 1, 1, 1, 1)), elements([]float32{4.5, 4.5}, 1, 1, 2, 1)},
	} {
		t.Run(c.op, func(t *testing.T) { newerOperator(t, c.op, c.attrs, c.in, c.want) })
	}
}

// TestFourBits: 4-bit elements stay 4-bit when they are moved, and become bytes when they are cast.
func TestFourBits(t *testing.T) {
	numbers, bytes := tensor.New(tensor.Float32, 2, 16), tensor.New(tensor.Uint8, 2, 16)
	for i := range bytes.Bytes {
		bytes.Bytes[i] = byte(i % 16)
		tensor.Values[float32](numbers)[i] = float32(i % 16)
	}
	four := onnx.Node{Op: "QuantizeLinear", Inputs: []string{"numbers", "one"}, Outputs: []string{"four"}, Attrs: map[string]any{"output_dtype": 21}}
	given := map[string]*tensor.Tensor{"numbers": numbers, "one": tensor.Scalar(float32(1))}
	at, scale := elements([]int64{-1}, 1), elements([]float32{1, 2}, 2, 1)
	rows := tensor.New(tensor.Float32, 1, 16)
	for i := range 16 {
		tensor.Values[float32](rows)[i] = 2 * float32(i)
	}
	gather := onnx.Node{Op: "GatherBlockQuantized", Domain: "com.microsoft", Inputs: []string{"moved", "x0", "scale"}, Outputs: []string{"y"}, Attrs: map[string]any{"block_size": 16}}
	packed := &tensor.Tensor{DType: tensor.Uint8, Shape: []int{2, 8}, Bytes: make([]byte, 16)}
	middle := tensor.New(tensor.Float32, 1, 16)
	for i := range packed.Bytes {
		packed.Bytes[i] = byte(2*i%16 | (2*i%16+1)<<4)
	}
	for i := range 16 {
		tensor.Values[float32](middle)[i] = 2 * float32(i-8)
	}
	for name, c := range map[string]struct {
		nodes []onnx.Node
		inits map[string]*tensor.Tensor
		in    *tensor.Tensor
		want  *tensor.Tensor
	}{
		"moved": {[]onnx.Node{four, {Op: "Transpose", Inputs: []string{"four"}, Outputs: []string{"turned"}}, {Op: "Transpose", Inputs: []string{"turned"}, Outputs: []string{"moved"}}, gather},
			map[string]*tensor.Tensor{"scale": scale}, at, rows},
		"packed": {[]onnx.Node{gather}, map[string]*tensor.Tensor{"moved": packed, "scale": scale}, at, middle},
		"cast": {[]onnx.Node{four, {Op: "Cast", Inputs: []string{"four"}, Outputs: []string{"bytes"}, Attrs: map[string]any{"to": 2}}, {Op: "Add", Inputs: []string{"bytes", "x0"}, Outputs: []string{"y"}}},
			map[string]*tensor.Tensor{}, tensor.New(tensor.Uint8, 1), bytes},
		"an output": {[]onnx.Node{four, {Op: "Cast", Inputs: []string{"four"}, Outputs: []string{"y"}, Attrs: map[string]any{"to": 2}}, {Op: "Identity", Inputs: []string{"x0"}, Outputs: []string{"unused"}}},
			map[string]*tensor.Tensor{}, tensor.New(tensor.Uint8, 1), bytes},
	} {
		t.Run(name, func(t *testing.T) {
			m := onnx.Model{Opsets: map[string]int{"": 21, "com.microsoft": 1}, Graph: onnx.Graph{Name: "g", Nodes: c.nodes, Outputs: []onnx.Value{{Name: "y", DType: c.want.DType, Unranked: true}}}}
			maps.Copy(c.inits, given)
			for name, v := range c.inits {
				m.Graph.Initializers = append(m.Graph.Initializers, onnx.Initializer{Name: name, Tensor: v})
			}
			runONNX(t, m, []*tensor.Tensor{c.in}, func(int) []onnx.Dim { return []onnx.Dim{{Symbol: "n"}} }, c.want)
		})
	}
}

// cached is two queries that match all keys equally, and a cache of three keys with some length.
func cached(length []int64) []*tensor.Tensor {
	q, k, v := tensor.New(tensor.Float32, 1, 1, 2, 1), elements([]float32{1, 2, 3}, 1, 1, 3, 1), elements([]float32{3, 6, 9}, 1, 1, 3, 1)
	return []*tensor.Tensor{q, k, v, nil, nil, nil, elements(length, 1)}
}

// newerOperator runs a model of one operator with inputs of open sizes.
func newerOperator(t *testing.T, op string, attrs map[string]any, in []*tensor.Tensor, want *tensor.Tensor) {
	node := onnx.Node{Op: op, Outputs: []string{"y"}, Attrs: attrs}
	for i, v := range in {
		if v == nil {
			node.Inputs = append(node.Inputs, "")
			continue
		}
		node.Inputs = append(node.Inputs, fmt.Sprintf("x%d", i))
	}
	m := onnx.Model{Opsets: map[string]int{"": 28}, Graph: onnx.Graph{Name: "g", Nodes: []onnx.Node{node}, Outputs: []onnx.Value{{Name: "y", DType: want.DType, Unranked: true}}}}
	runONNX(t, m, in, func(i int) []onnx.Dim { return dimsLike(in[i], op, i) }, want)
}

// runONNX runs a model with inputs x0, x1 and so on, with some sizes, and output y.
func runONNX(t *testing.T, m onnx.Model, in []*tensor.Tensor, dims func(i int) []onnx.Dim, want *tensor.Tensor) {
	t.Helper()
	got, err := answerONNX(t, m, in, dims)
	if err != nil {
		t.Fatal(err)
	}
	if err := equalTensors(got, want); err != nil {
		t.Error(err)
	}
}

// answerONNX returns the output of such a model.
func answerONNX(t *testing.T, m onnx.Model, in []*tensor.Tensor, dims func(i int) []onnx.Dim) (*tensor.Tensor, error) {
	t.Helper()
	for i, v := range in {
		if v != nil {
			m.Graph.Inputs = append(m.Graph.Inputs, onnx.Value{Name: fmt.Sprintf("x%d", i), DType: v.DType, Dims: dims(i)})
		}
	}
	s, err := openONNX(t, m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sig, feeds := s.Signatures()[savedmodel.DefaultSignature], map[string]*tensor.Tensor{}
	for i, v := range in {
		if v == nil {
			continue
		}
		feeds[sig.GetInputs()[fmt.Sprintf("x%d", i)].GetName()] = v
	}
	got, err := s.Run(t.Context(), feeds, []string{sig.GetOutputs()["y"].GetName()})
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

func openONNX(t *testing.T, m onnx.Model) (*session.Session, error) {
	t.Helper()
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, onnx.File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return session.Open(t.Context(), dir, session.Options{MaxConcurrent: 1})
}

// dimsLike returns open sizes, except for complex parts, heads and head sizes, and vectors.
func dimsLike(v *tensor.Tensor, op string, input int) (dims []onnx.Dim) {
	for i, n := range v.Shape {
		d := onnx.Dim{Symbol: fmt.Sprintf("d%d_%d", input, i)}
		if op == "DFT" && i == 2 || op == "Attention" && i%2 == 1 || len(v.Shape) == 1 {
			d = onnx.Dim{Size: n}
		}
		dims = append(dims, d)
	}
	return dims
}

// TestPlacesBeside: an out-of-range index is refused, even if it would be an element of another row.
func TestPlacesBeside(t *testing.T) {
	u, at, updates := elements([]float32{1, 2, 3, 4, 5, 6}, 2, 3), elements([]int64{4}, 1, 1), elements([]float32{9}, 1, 1)
	for _, c := range []struct {
		op    string
		attrs map[string]any
		in    []*tensor.Tensor
	}{
		{"GatherElements", map[string]any{"axis": 1}, []*tensor.Tensor{u, at}},
		{"ScatterElements", map[string]any{"axis": 1}, []*tensor.Tensor{u, at, updates}},
		{"ScatterElements", map[string]any{"axis": 1, "reduction": "mul"}, []*tensor.Tensor{u, at, updates}},
		{"ScatterND", map[string]any{"reduction": "mul"}, []*tensor.Tensor{u, elements([]int64{0, 4}, 1, 2), elements([]float32{9}, 1)}},
	} {
		node := onnx.Node{Op: c.op, Outputs: []string{"y"}, Attrs: c.attrs}
		for i := range c.in {
			node.Inputs = append(node.Inputs, fmt.Sprintf("x%d", i))
		}
		m := onnx.Model{Opsets: map[string]int{"": 18}, Graph: onnx.Graph{Name: "g", Nodes: []onnx.Node{node}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
		if got, err := answerONNX(t, m, c.in, func(i int) []onnx.Dim { return dimsLike(c.in[i], c.op, i) }); err == nil {
			t.Errorf("%s %v: got %v, expected an error", c.op, c.attrs, got)
		}
	}
}

// TestGraphsWithinGraphs: nested graphs use values of all graphs around them, once and repeatedly.
func TestGraphsWithinGraphs(t *testing.T) {
	branch := func(nodes ...onnx.Node) *onnx.Graph {
		return &onnx.Graph{Nodes: nodes, Outputs: []onnx.Value{{Name: nodes[len(nodes)-1].Outputs[0], DType: tensor.Float32, Unranked: true}}}
	}
	decide := func(then, other *onnx.Graph, out string) onnx.Node {
		return onnx.Node{Op: "If", Inputs: []string{"x0"}, Outputs: []string{out}, Attrs: map[string]any{"then_branch": then, "else_branch": other}}
	}
	sum := func(a, b, out string) onnx.Node {
		return onnx.Node{Op: "Add", Inputs: []string{a, b}, Outputs: []string{out}}
	}
	inmost := decide(branch(sum("x1", "twice", "a")), branch(sum("x1", "x1", "b")), "c")
	middle := decide(branch(sum("x1", "x1", "twice"), inmost), branch(sum("x1", "x1", "d")), "e")
	for within, c := range []struct {
		node onnx.Node
		want float32
	}{{decide(branch(middle), branch(sum("x1", "x1", "f")), "y"), 6}, {decide(branch(middle, sum("e", "x1", "g")), branch(sum("x1", "x1", "f")), "y"), 8}} {
		m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{c.node}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
		in := []*tensor.Tensor{{DType: tensor.Bool, Bytes: []byte{1}}, elements([]float32{2, -1}, 2)}
		got, err := answerONNX(t, m, in, func(i int) []onnx.Dim { return dimsLike(in[i], "", i) })
		if err != nil {
			t.Errorf("model %d: %v", within, err)
		} else if v := tensor.Values[float32](got); len(v) != 2 || v[0] != c.want || v[1] != -c.want/2 {
			t.Errorf("model %d: got %v, expected %v and %v", within, v, c.want, -c.want/2)
		}
	}
}
