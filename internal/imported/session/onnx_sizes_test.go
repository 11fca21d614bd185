package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// TestSizesThatAreNoConstants: padding up to a multiple, or cutting at a limit, is computed for each request, although a model whose
// convolution needs at least 7 pixels cannot be tried with all sizes.
func TestSizesThatAreNoConstants(t *testing.T) {
	kernel := tensor.New(tensor.Float32, 1, 1, 7)
	tensor.Values[float32](kernel)[0] = 1
	node := func(op string, in []string, out string) onnx.Node {
		return onnx.Node{Op: op, Inputs: in, Outputs: []string{out}}
	}
	cut := func(n, at int) int { return min(n, at) }
	raise := func(n, to int) int { return max(n, to) }
	fill := func(n, k int) int { return (n + k - 1) / k * k }
	for _, c := range []struct {
		op     string
		number int64
		size   func(n, number int) int
	}{{"Mod", 2, fill}, {"Mod", 8, fill}, {"Mod", 32, fill}, {"Min", 40, cut}, {"Max", 300, raise}, {"Max", 4000, raise}, {"Min", 500, cut}} {
		for _, rows := range []int{20, 37, 38, 70, 310} {
			t.Run(fmt.Sprint(c.op, c.number, "/", rows), func(t *testing.T) {
				m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
					Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
					Initializers: []onnx.Initializer{{Name: "w", Tensor: kernel}, {Name: "k", Tensor: elements([]int64{c.number}, 1)}, {Name: "two", Tensor: elements([]int64{2}, 1)}, {Name: "zeros", Tensor: elements([]int64{0, 0, 0, 0, 0}, 5)}},
					Nodes:        []onnx.Node{node("Conv", []string{"x0", "w"}, "c"), node("Shape", []string{"c"}, "s"), node("Gather", []string{"s", "two"}, "n")}}}
				if c.op == "Mod" {
					m.Graph.Nodes = append(m.Graph.Nodes, node("Neg", []string{"n"}, "negative"), node("Mod", []string{"negative", "k"}, "more"))
				} else {
					m.Graph.Nodes = append(m.Graph.Nodes, node(c.op, []string{"n", "k"}, "to"), node("Sub", []string{"to", "n"}, "more"))
				}
				pads := node("Concat", []string{"zeros", "more"}, "pads")
				pads.Attrs = map[string]any{"axis": 0}
				m.Graph.Nodes = append(m.Graph.Nodes, pads, node("Pad", []string{"c", "pads"}, "y"))
				x := tensor.New(tensor.Float32, 1, 1, rows)
				for i := range rows {
					tensor.Values[float32](x)[i] = float32(i + 1)
				}
				want := tensor.New(tensor.Float32, 1, 1, c.size(rows-6, int(c.number)))
				copy(tensor.Values[float32](want), tensor.Values[float32](x)[:rows-6])
				runONNX(t, m, []*tensor.Tensor{x}, func(int) []onnx.Dim { return []onnx.Dim{{Symbol: "batch"}, {Size: 1}, {Symbol: "rows"}} }, want)
			})
		}
	}
}

// TestNumbersBeyondInt32: a length or index beyond int32 is not truncated to another one.
func TestNumbersBeyondInt32(t *testing.T) {
	const beyond = 1<<32 + 1
	for _, c := range []struct {
		op    string
		attrs map[string]any
		in    []*tensor.Tensor
		want  *tensor.Tensor // nil: an error
	}{
		{"TensorScatter", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 1, 3, 1), elements([]float32{7}, 1, 1, 1), elements([]int64{beyond}, 1)}, elements([]float32{1, 2, 3}, 1, 3, 1)},
		{"TensorScatter", map[string]any{"mode": "circular"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 1, 3, 1), elements([]float32{7}, 1, 1, 1), elements([]int64{beyond}, 1)}, elements([]float32{1, 2, 7}, 1, 3, 1)},
		{"CenterCropPad", nil, []*tensor.Tensor{elements([]float32{1, 2, 3, 4}, 2, 2), elements([]int64{beyond, 2}, 2)}, nil},
		{"GatherElements", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{beyond}, 1)}, nil},
		{"TopK", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{beyond}, 1)}, nil},
		{"OneHot", nil, []*tensor.Tensor{elements([]int64{0}, 1), elements([]int64{beyond}), elements([]float32{0, 1}, 2)}, nil},
		{"HannWindow", nil, []*tensor.Tensor{elements([]int64{beyond})}, nil},
		{"Pad", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{0, beyond}, 2)}, nil},
		{"Pad", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{-beyond, 0}, 2)}, nil},
		{"Pad", map[string]any{"mode": "edge"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{0, beyond}, 2)}, nil},
		{"Pad", map[string]any{"mode": "edge"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{beyond, 0}, 2)}, nil},
		{"Pad", map[string]any{"mode": "edge"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{beyond, beyond}, 2)}, nil},
		{"Pad", map[string]any{"mode": "wrap"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{0, -beyond}, 2)}, nil},
		{"Pad", map[string]any{"mode": "wrap"}, []*tensor.Tensor{elements([]float32{1, 2, 3}, 3), elements([]int64{-beyond, 0}, 2)}, nil},
		{"DFT", nil, []*tensor.Tensor{elements([]float32{1, 2, 3}, 1, 3, 1), elements([]int64{beyond})}, nil},
	} {
		t.Run(c.op, func(t *testing.T) {
			if c.want != nil {
				newerOperator(t, c.op, c.attrs, c.in, c.want)
				return
			}
			y := onnx.Value{Name: "y", DType: tensor.Float32, Unranked: true}
			n := onnx.Node{Op: c.op, Outputs: []string{"y"}, Attrs: c.attrs}
			m := onnx.Model{Opsets: map[string]int{"": 23}, Graph: onnx.Graph{Outputs: []onnx.Value{y}}}
			for i := range c.in {
				n.Inputs = append(n.Inputs, fmt.Sprintf("x%d", i))
			}
			if c.op == "TopK" {
				n.Outputs = append(n.Outputs, "at")
			}
			m.Graph.Nodes = []onnx.Node{n}
			if got, err := answerONNX(t, m, c.in, func(i int) []onnx.Dim { return dimsLike(c.in[i], c.op, i) }); err == nil {
				t.Errorf("got %v: expected an error", got.Shape)
			}
		})
	}
}

// TestSlicesOfOneAxis: the axes say how many starts there are if the rank of the starts is only known from a request.
func TestSlicesOfOneAxis(t *testing.T) {
	m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
		Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Initializers: []onnx.Initializer{{Name: "axis", Tensor: elements([]int64{0}, 1)}, {Name: "end", Tensor: elements([]int64{4}, 1)}},
		Nodes: []onnx.Node{
			{Op: "Squeeze", Inputs: []string{"x1"}, Outputs: []string{"s"}}, {Op: "Unsqueeze", Inputs: []string{"s", "axis"}, Outputs: []string{"start"}},
			{Op: "Slice", Inputs: []string{"x0", "start", "end", "axis"}, Outputs: []string{"y"}}}}}
	in := []*tensor.Tensor{elements([]float32{1, 2, 3, 4, 5}, 5), elements([]int64{2}, 1, 1)}
	runONNX(t, m, in, func(i int) []onnx.Dim { return dimsLike(in[i], "Slice", i) }, elements([]float32{3, 4}, 2))
}

// TestFourBitsInGraphs: nested graphs take, return and carry 4-bit elements. Numbers quantized with a 4-bit zero point are limited
// to 15.
func TestFourBitsInGraphs(t *testing.T) {
	nodes := func(zero, name string) []onnx.Node {
		return []onnx.Node{{Op: "QuantizeLinear", Inputs: []string{"x2", "one", zero}, Outputs: []string{name + "q"}}, {Op: "Cast", Inputs: []string{name + "q"}, Outputs: []string{name}, Attrs: map[string]any{"to": 2}}}
	}
	same := func(from, name string) []onnx.Node {
		return []onnx.Node{{Op: "Identity", Inputs: []string{from}, Outputs: []string{name}}}
	}
	inner := func(nodes []onnx.Node, name string) *onnx.Graph {
		return &onnx.Graph{Name: name, Nodes: nodes, Outputs: []onnx.Value{{Name: name, DType: tensor.Uint8, Unranked: true}}}
	}
	either := func(name string, yes, no *onnx.Graph) onnx.Node {
		return onnx.Node{Op: "If", Inputs: []string{"x0"}, Outputs: []string{name}, Attrs: map[string]any{"then_branch": yes, "else_branch": no}}
	}
	body := &onnx.Graph{Name: "body", Inputs: []onnx.Value{{Name: "i", DType: tensor.Int64}, {Name: "c", DType: tensor.Bool}, {Name: "z", DType: tensor.Uint8}},
		Nodes:   append(append(same("c", "on"), same("z", "next")...), nodes("z", "each")...),
		Outputs: []onnx.Value{{Name: "on", DType: tensor.Bool}, {Name: "next", DType: tensor.Uint8}, {Name: "each", DType: tensor.Uint8, Unranked: true}}}
	flat := onnx.Node{Op: "Squeeze", Inputs: []string{"all", "axis"}, Outputs: []string{"y"}}
	for name, list := range map[string][]onnx.Node{
		"taken":   {either("y", inner(nodes("zero", "a"), "a"), inner(nodes("zero", "b"), "b"))},
		"given":   append([]onnx.Node{either("g", inner(same("zero", "a"), "a"), inner(same("zero", "b"), "b"))}, nodes("g", "y")...),
		"carried": {{Op: "Loop", Inputs: []string{"once", "", "zero"}, Outputs: []string{"last", "all"}, Attrs: map[string]any{"body": body}}, flat},
	} {
		t.Run(name, func(t *testing.T) {
			four := onnx.Node{Op: "QuantizeLinear", Inputs: []string{"x1", "one"}, Outputs: []string{"zero"}, Attrs: map[string]any{"output_dtype": 21}}
			m := onnx.Model{Opsets: map[string]int{"": 21}, Graph: onnx.Graph{Nodes: append([]onnx.Node{four}, list...), Outputs: []onnx.Value{{Name: "y", DType: tensor.Uint8, Unranked: true}},
				Initializers: []onnx.Initializer{{Name: "one", Tensor: tensor.Scalar(float32(1))}, {Name: "once", Tensor: tensor.Scalar(int64(1))}, {Name: "axis", Tensor: elements([]int64{0}, 1)}}}}
			in := []*tensor.Tensor{tensor.Scalar(true), tensor.Scalar(float32(0)), elements([]float32{3, 100}, 2)}
			runONNX(t, m, in, func(i int) []onnx.Dim { return dimsLike(in[i], "", i) }, &tensor.Tensor{DType: tensor.Uint8, Shape: []int{2}, Bytes: []byte{3, 15}})
		})
	}
}

// TestFourAndEightBits: branches whose results differ only in having 4 or 8 bits are refused, and the types named.
func TestFourAndEightBits(t *testing.T) {
	graph := func(bits int) *onnx.Graph {
		q := onnx.Node{Op: "QuantizeLinear", Inputs: []string{"x1", "one"}, Outputs: []string{"q"}, Attrs: map[string]any{"output_dtype": bits}}
		return &onnx.Graph{Nodes: []onnx.Node{q}, Outputs: []onnx.Value{{Name: "q", DType: tensor.Uint8, Unranked: true}}}
	}
	const uint4, uint8 = 21, 2 // in ONNX
	m := onnx.Model{Opsets: map[string]int{"": 21}, Graph: onnx.Graph{
		Inputs:       []onnx.Value{{Name: "x0", DType: tensor.Bool}, {Name: "x1", DType: tensor.Float32}},
		Outputs:      []onnx.Value{{Name: "y", DType: tensor.Uint8, Unranked: true}},
		Initializers: []onnx.Initializer{{Name: "one", Tensor: tensor.Scalar(float32(1))}},
		Nodes:        []onnx.Node{{Op: "If", Inputs: []string{"x0"}, Outputs: []string{"y"}, Attrs: map[string]any{"then_branch": graph(uint4), "else_branch": graph(uint8)}}}}}
	s, err := openONNX(t, m)
	if err == nil || !strings.Contains(err.Error(), "branches whose results 0 are uint4 and uint8") {
		t.Errorf("got %v", err)
	}
	if err == nil {
		s.Close()
	}
}

// TestResizedIntegers: fractions are cut off, or, with antialias, rounded after each axis, within the limits of the type.
func TestResizedIntegers(t *testing.T) {
	const signed, unsigned = tensor.Int8, tensor.Uint8
	for name, c := range map[string]struct {
		d        tensor.DType
		rows     int
		in, want []byte
		scales   []float32
		attrs    map[string]any
	}{
		"negative":  {signed, 1, []byte{0xfd, 3}, []byte{0xfd, 0xff, 1, 3}, []float32{1, 1, 1, 2}, map[string]any{"mode": "linear"}},
		"positive":  {unsigned, 1, []byte{0, 3}, []byte{0, 0, 2, 3}, []float32{1, 1, 1, 2}, map[string]any{"mode": "linear"}},
		"limits":    {unsigned, 1, []byte{0, 255, 255, 0, 0, 0, 255, 255}, []byte{0, 128, 255, 255, 128, 0, 0, 0, 37, 218, 255, 255}, []float32{1, 1, 1, 1.5}, map[string]any{"mode": "cubic", "antialias": 1}},
		"antialias": {unsigned, 2, []byte{0, 255, 255, 0, 3, 7, 9, 100}, []byte{67, 91}, []float32{1, 1, .5, .5}, map[string]any{"mode": "linear", "antialias": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			x := &tensor.Tensor{DType: c.d, Shape: []int{1, 1, c.rows, len(c.in) / c.rows}, Bytes: c.in}
			m := onnx.Model{Opsets: map[string]int{"": 18}, Graph: onnx.Graph{Initializers: []onnx.Initializer{{Name: "s", Tensor: elements(c.scales, 4)}},
				Nodes: []onnx.Node{{Op: "Resize", Inputs: []string{"x0", "", "s"}, Outputs: []string{"y"}, Attrs: c.attrs}}, Outputs: []onnx.Value{{Name: "y", DType: c.d, Unranked: true}}}}
			sizes := func(int) (dims []onnx.Dim) {
				for _, n := range x.Shape {
					dims = append(dims, onnx.Dim{Size: n})
				}
				return dims
			}
			runONNX(t, m, []*tensor.Tensor{x}, sizes, &tensor.Tensor{DType: c.d, Shape: []int{1, 1, 1, len(c.want)}, Bytes: c.want})
		})
	}
}

// TestResizedPlaces: pixel positions are rounded as in ONNX Runtime, which the expected values come from.
func TestResizedPlaces(t *testing.T) {
	x := tensor.New(tensor.Float32, 1, 1, 1, 160)
	for i := range 160 {
		tensor.Values[float32](x)[i] = float32(i % 2)
	}
	const low, high = 0.399993896484375, 0.600006103515625
	for mode, c := range map[string]struct {
		at   []int64
		want []float32
	}{
		"half_pixel": {[]int64{704, 709, 744, 764}, []float32{low, high, low, low}},
		"asymmetric": {[]int64{707, 742, 762, 767}, []float32{high, low, low, high}},
	} {
		t.Run(mode, func(t *testing.T) {
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Initializers: []onnx.Initializer{{Name: "s", Tensor: elements([]float32{1, 1, 5, 5}, 4)}, {Name: "at", Tensor: elements(c.at, 4)}},
				Nodes: []onnx.Node{{Op: "Resize", Inputs: []string{"x0", "", "s"}, Outputs: []string{"all"}, Attrs: map[string]any{"mode": "linear", "coordinate_transformation_mode": mode}},
					{Op: "Gather", Inputs: []string{"all", "at"}, Outputs: []string{"some"}, Attrs: map[string]any{"axis": 3}}, {Op: "ReduceMax", Inputs: []string{"some"}, Outputs: []string{"y"}, Attrs: map[string]any{"axes": []int{2}}}},
				Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
			runONNX(t, m, []*tensor.Tensor{x}, func(i int) []onnx.Dim { return dimsLike(x, "", i) }, elements(c.want, 1, 1, 1, 4))
		})
	}
}

// TestRanksThatFollow: only a request says which axes a Squeeze leaves; an Einsum's equation says the rank of its result.
func TestRanksThatFollow(t *testing.T) {
	m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
		Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Nodes: []onnx.Node{
			{Op: "Squeeze", Inputs: []string{"x0"}, Outputs: []string{"s"}}, {Op: "Einsum", Inputs: []string{"s"}, Outputs: []string{"e"}, Attrs: map[string]any{"equation": "ij->ji"}},
			{Op: "Flatten", Inputs: []string{"e"}, Outputs: []string{"y"}, Attrs: map[string]any{"axis": -1}}}}}
	in := []*tensor.Tensor{elements([]float32{0, 2, 0, 1, 0, 3}, 1, 2, 3)}
	runONNX(t, m, in, func(i int) []onnx.Dim { return dimsLike(in[i], "", i) }, elements([]float32{0, 1, 2, 0, 0, 3}, 3, 2))
}
