package onnxgraph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// images is a batch of images of open size.
func images(name string, dims ...int) onnx.Value {
	v := onnx.Value{Name: name, DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "batch"}}}
	for _, d := range dims {
		v.Dims = append(v.Dims, onnx.Dim{Size: d})
	}
	return v
}

func node(op, name string, in []string, out []string, attrs map[string]any) onnx.Node {
	return onnx.Node{Op: op, Name: name, Inputs: in, Outputs: out, Attrs: attrs}
}

func model(g onnx.Graph) *onnx.Model {
	return &onnx.Model{Opsets: map[string]int{"": 17, mlDomain: 3}, Graph: g}
}

// TestImagesStayAsTheyAre: a chain of convolutions, pools and elementwise operators is only transposed at its beginning and end.
func TestImagesStayAsTheyAre(t *testing.T) {
	g := onnx.Graph{Inputs: []onnx.Value{images("x", 4, 16, 16)}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}
	for i := range 3 {
		w := fmt.Sprintf("w%d", i)
		g.Initializers = append(g.Initializers, onnx.Initializer{Name: w, Tensor: tensor.New(tensor.Float32, 4, 4, 3, 3)})
		from := fmt.Sprintf("a%d", i)
		if i == 0 {
			from = "x"
		}
		g.Nodes = append(g.Nodes, node("Conv", "", []string{from, w}, []string{w + "c"}, map[string]any{"pads": []int{1, 1, 1, 1}}), node("Relu", "", []string{w + "c"}, []string{w + "r"}, nil),
			node("Add", "", []string{w + "r", w + "c"}, []string{fmt.Sprintf("a%d", i+1)}, nil))
	}
	g.Nodes = append(g.Nodes, node("MaxPool", "", []string{"a3"}, []string{"p"}, map[string]any{"kernel_shape": []int{2, 2}}), node("GlobalAveragePool", "", []string{"p"}, []string{"y"}, nil))
	m, err := Translate(t.Context(), model(g))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, x := range m.Graph.Graph.Nodes() {
		if x.Op == "Transpose" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d transpositions: expected 2", n)
	}
}

// TestListsAllGaps: all gaps are reported at once, including gaps in subgraphs, but not their consequences.
func TestListsAllGaps(t *testing.T) {
	inner := &onnx.Graph{Outputs: []onnx.Value{{Name: "z"}}, Nodes: []onnx.Node{node("Bogus", "deep", []string{"x"}, []string{"z"}, nil)}}
	g := onnx.Graph{Inputs: []onnx.Value{images("x", 4), {Name: "c", DType: tensor.Bool}}, Outputs: []onnx.Value{{Name: "y"}}, Nodes: []onnx.Node{
		node("Bogus", "first", []string{"x"}, []string{"a"}, nil), node("Bogus", "second", []string{"a"}, []string{"b"}, nil),
		node("Relu", "third", []string{"x"}, []string{"d"}, map[string]any{"odd": 1}), node("If", "fourth", []string{"c"}, []string{"e"}, map[string]any{"then_branch": inner, "else_branch": inner}),
		node("Add", "fifth", []string{"b", "e"}, []string{"y"}, nil)}}
	_, err := Translate(t.Context(), model(g))
	var u *UnsupportedError
	if !errors.As(err, &u) || len(u.Gaps) != 2 {
		t.Fatalf("got %v", err)
	}
	if got := fmt.Sprint(u.Gaps); got != "[{Bogus the operator is not translated (version 17) [first second deep deep]} {Relu attribute odd is not supported [third]}]" {
		t.Error(got)
	}
}

func TestRefusesWhatIsNoModel(t *testing.T) {
	x, y := []onnx.Value{images("x", 4)}, []onnx.Value{{Name: "y", DType: tensor.Float32}}
	again := onnx.Function{Domain: "f", Name: "F", Inputs: []string{"a"}, Outputs: []string{"c"}, Opsets: map[string]int{"": 17, "f": 1},
		Nodes: []onnx.Node{{Domain: "f", Op: "F", Inputs: []string{"a"}, Outputs: []string{"b"}}, {Domain: "f", Op: "F", Inputs: []string{"b"}, Outputs: []string{"c"}}}}
	endless := model(onnx.Graph{Inputs: x, Outputs: y, Nodes: []onnx.Node{{Domain: "f", Op: "F", Inputs: []string{"x"}, Outputs: []string{"y"}}}})
	endless.Opsets["f"], endless.Functions = 1, []onnx.Function{again}
	new := model(onnx.Graph{Inputs: x, Outputs: y, Nodes: []onnx.Node{node("Relu", "", []string{"x"}, []string{"y"}, nil)}})
	new.Opsets[""] = 99
	for want, m := range map[string]*onnx.Model{
		"no node makes it before": model(onnx.Graph{Inputs: x, Outputs: y, Nodes: []onnx.Node{node("Add", "", []string{"x", "b"}, []string{"a"}, nil), node("Relu", "", []string{"a"}, []string{"b"}, nil)}}),
		`output "y"`:              model(onnx.Graph{Inputs: x, Outputs: y}),
		"defined twice":           model(onnx.Graph{Inputs: x, Outputs: y, Nodes: []onnx.Node{node("Relu", "", []string{"x"}, []string{"x"}, nil)}}),
		"no outputs":              model(onnx.Graph{Inputs: x}),
		"calls of functions":      endless,
		"expected at most 28":     new,
		"do not fit the operator": model(onnx.Graph{Inputs: x, Outputs: y, Initializers: []onnx.Initializer{{Name: "w", Tensor: tensor.New(tensor.Float32, 1, 4, 3)}},
			Nodes: []onnx.Node{node("Conv", "", []string{"x", "w"}, []string{"y"}, map[string]any{"kernel_shape": []int{3}, "strides": []int{}, "pads": []int{1, 1}})}}),
		"values of kind map": model(onnx.Graph{Inputs: []onnx.Value{{Name: "x", Kind: "map"}}, Outputs: y, Nodes: []onnx.Node{node("SequenceLength", "", []string{"x"}, []string{"y"}, nil)}}),
	} {
		if _, err := Translate(t.Context(), m); err == nil || !strings.Contains(err.Error(), want) && want != "do not fit the operator" {
			t.Errorf("got %v, expected %q in it", err, want)
		}
	}
}

// TestConstantsDoNotMultiply: operators on constants are not folded once the results take many times the memory of the model.
func TestConstantsDoNotMultiply(t *testing.T) {
	const size = 1 << 20
	g := onnx.Graph{Inputs: []onnx.Value{images("x", 1)}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32}}, Initializers: []onnx.Initializer{{Name: "w0", Tensor: tensor.New(tensor.Float32, size/8, 8)}}}
	last := "w0"
	for i := range 200 {
		next := fmt.Sprintf("w%d", i+1)
		g.Nodes = append(g.Nodes, node("Transpose", "", []string{last}, []string{next}, nil))
		last = next
	}
	g.Nodes = append(g.Nodes, node("ReduceSum", "", []string{last}, []string{"s"}, map[string]any{"keepdims": 0}), node("Add", "", []string{"x", "s"}, []string{"y"}, nil))
	m, err := Translate(t.Context(), model(g))
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, n := range m.Graph.Graph.Nodes() {
		if n.Op == "Transpose" {
			left++
		}
	}
	if made := 200 - left; left == 0 || made*4*size > minRoom+5*4*size {
		t.Errorf("%d of 200 transpositions were made at once", made)
	}
}

// TestHugeSizesAreRefused: sizes in a model are checked before they are multiplied, and before lists of that length are made.
func TestHugeSizesAreRefused(t *testing.T) {
	sized := func(name string, d tensor.DType, sizes ...int) onnx.Value {
		v := onnx.Value{Name: name, DType: d}
		for _, n := range sizes {
			v.Dims = append(v.Dims, onnx.Dim{Size: n})
		}
		return v
	}
	list := func(name string, values *tensor.Tensor) onnx.Initializer {
		return onnx.Initializer{Name: name, Tensor: values}
	}
	const f, huge = tensor.Float32, 1 << 34
	y := []onnx.Value{{Name: "y", DType: f, Unranked: true}}
	scales := tensor.New(f, 1)
	tensor.Values[float32](scales)[0] = 16
	copies := []onnx.Node{node("SplitToSequence", "", []string{"x"}, []string{"s0"}, nil)}
	for i := range 1000 {
		copies = append(copies, node("SequenceInsert", "", []string{fmt.Sprintf("s%d", i), "x"}, []string{fmt.Sprintf("s%d", i+1)}, nil))
	}
	copies = append(copies, node("SequenceLength", "", []string{"s1000"}, []string{"y"}, nil))
	for name, g := range map[string]onnx.Graph{
		"groups": {Inputs: []onnx.Value{sized("x", f, 1, huge, 1, 1, 1), sized("w", f, huge, 1, 1, 1, 1)}, Nodes: []onnx.Node{node("Conv", "", []string{"x", "w"}, []string{"y"}, map[string]any{"group": huge})}},
		"window": {Inputs: []onnx.Value{sized("x", f, 1, 1, 1<<30, 1<<30, 1<<30)},
			Nodes: []onnx.Node{node("MaxPool", "", []string{"x"}, []string{"y"}, map[string]any{"kernel_shape": []int{1 << 24, 1 << 24, 1 << 16}, "dilations": []int{2, 1, 1}})}},
		"resize": {Inputs: []onnx.Value{sized("x", f, 1<<30)}, Initializers: []onnx.Initializer{list("s", scales)},
			Nodes: []onnx.Node{node("Resize", "", []string{"x", "", "s"}, []string{"y"}, map[string]any{"mode": "nearest", "nearest_mode": "floor"})}},
		"parts":  {Inputs: []onnx.Value{sized("x", f, 1<<40)}, Nodes: []onnx.Node{node("SplitToSequence", "", []string{"x"}, []string{"s"}, nil), node("SequenceLength", "", []string{"s"}, []string{"y"}, nil)}},
		"starts": {Inputs: []onnx.Value{sized("x", f, 4), sized("i", tensor.Int64, 1<<40)}, Nodes: []onnx.Node{node("Slice", "", []string{"x", "i", "i"}, []string{"y"}, nil)}},
		"shape":  {Inputs: []onnx.Value{sized("x", f, 4), sized("i", tensor.Int64, 1<<40)}, Nodes: []onnx.Node{node("Reshape", "", []string{"x", "i"}, []string{"y"}, nil)}},
		"axes":   {Inputs: []onnx.Value{sized("x", f, 1)}, Initializers: []onnx.Initializer{list("i", tensor.New(tensor.Int64, 100_000))}, Nodes: []onnx.Node{node("Unsqueeze", "", []string{"x", "i"}, []string{"y"}, nil)}},
		"twice":  {Inputs: []onnx.Value{sized("x", f, 1)}, Initializers: []onnx.Initializer{list("i", tensor.New(tensor.Int64, 2))}, Nodes: []onnx.Node{node("Unsqueeze", "", []string{"x", "i"}, []string{"y"}, nil)}},
		"sequences of sequences": {Inputs: []onnx.Value{sized("x", f, 1)},
			Nodes: []onnx.Node{node("SequenceConstruct", "", []string{"x", "x"}, []string{"s"}, nil), node("SequenceConstruct", "", []string{"s", "s"}, []string{"y"}, nil)}},
		"copies":  {Inputs: []onnx.Value{sized("x", f, 1<<16)}, Nodes: copies},
		"no rank": {Inputs: []onnx.Value{{Name: "x", DType: tensor.Uint8, Unranked: true}, sized("s", f, 3), sized("z", tensor.Uint8, 3)}, Nodes: []onnx.Node{node("DequantizeLinear", "", []string{"x", "s", "z"}, []string{"y"}, nil)}},
	} {
		g.Outputs = y
		if _, err := Translate(t.Context(), model(g)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTranslationEnds: translation ends with its context.
func TestTranslationEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	g := onnx.Graph{Inputs: []onnx.Value{images("x", 1)}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32}}, Nodes: []onnx.Node{node("Relu", "", []string{"x"}, []string{"y"}, nil)}}
	if _, err := Translate(ctx, model(g)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestMapsEndAtOutputs: ZipMap's result becomes two outputs, and no other node may use it.
func TestMapsEndAtOutputs(t *testing.T) {
	zip := node("ZipMap", "", []string{"x"}, []string{"m"}, map[string]any{"classlabels_strings": []string{"a", "b", "c"}})
	zip.Domain = mlDomain
	graphOf := func(outputs []string, nodes ...onnx.Node) onnx.Graph {
		g := onnx.Graph{Inputs: []onnx.Value{{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "n"}, {Size: 3}}}}, Nodes: append([]onnx.Node{zip}, nodes...)}
		for _, name := range outputs {
			g.Outputs = append(g.Outputs, onnx.Value{Name: name, Kind: "sequence"})
		}
		return g
	}
	m, err := Translate(t.Context(), model(graphOf([]string{"m"})))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Graph.Signatures["serving_default"].GetOutputs(); len(got) != 2 || got["m"] == nil || got["m_keys"].GetDtype() != types_go_proto.DataType_DT_STRING {
		t.Errorf("outputs %v", got)
	}
	for want, g := range map[string]onnx.Graph{
		"maps where a tensor is expected": graphOf([]string{"y"}, node("Relu", "", []string{"m"}, []string{"y"}, nil)),
		"two outputs \"m_keys\"":          graphOf([]string{"m_keys", "m"}, node("Relu", "", []string{"x"}, []string{"m_keys"}, nil)),
	} {
		if _, err := Translate(t.Context(), model(g)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q in it", err, want)
		}
	}
}

// FuzzTranslate: untrusted models are translated or refused.
func FuzzTranslate(f *testing.F) {
	seeds, _ := filepath.Glob("../../../.venv/lib/python3*/site-packages/onnx/backend/test/data/node/test_*/model.onnx")
	for i, s := range seeds {
		if data, err := os.ReadFile(s); err == nil && i%20 == 0 && len(data) < 1<<12 {
			f.Add(data)
		}
	}
	small, err := model(onnx.Graph{Inputs: []onnx.Value{images("x", 3, 8, 8)}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32}}, Initializers: []onnx.Initializer{{Name: "w", Tensor: tensor.New(tensor.Float32, 2, 3, 3, 3)}},
		Nodes: []onnx.Node{node("Conv", "", []string{"x", "w"}, []string{"c"}, nil), node("MaxPool", "", []string{"c"}, []string{"y"}, map[string]any{"kernel_shape": []int{2, 2}, "ceil_mode": 1})}}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := onnx.Unmarshal(data); err == nil {
			_, _ = Translate(t.Context(), m)
		}
	})
}

// TestLengthsOfTexts: a network with 64 positions for words, which is less than most assumed lengths, is translated nevertheless.
func TestLengthsOfTexts(t *testing.T) {
	words := onnx.Value{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "batch"}, {Symbol: "length"}, {Size: 8}}}
	places, one := tensor.New(tensor.Float32, 64, 8), tensor.New(tensor.Int64, 1)
	tensor.Values[int64](one)[0] = 1
	shape := tensor.New(tensor.Int64, 2)
	copy(tensor.Values[int64](shape), []int64{2, 4})
	g := onnx.Graph{Inputs: []onnx.Value{words}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Initializers: []onnx.Initializer{{Name: "places", Tensor: places}, {Name: "zero", Tensor: tensor.New(tensor.Int64, 1)}, {Name: "one", Tensor: one}, {Name: "two", Tensor: shape}},
		Nodes: []onnx.Node{
			node("Shape", "", []string{"x"}, []string{"s"}, nil), node("Gather", "", []string{"s", "one"}, []string{"n"}, nil), node("Slice", "", []string{"places", "zero", "n", "zero"}, []string{"p"}, nil),
			node("Add", "", []string{"x", "p"}, []string{"a"}, nil), node("Shape", "", []string{"a"}, []string{"t"}, nil), node("Gather", "", []string{"t", "zero"}, []string{"b"}, nil),
			node("Gather", "", []string{"t", "one"}, []string{"l"}, nil), node("Concat", "", []string{"b", "l", "two"}, []string{"to"}, map[string]any{"axis": 0}),
			node("Reshape", "", []string{"a", "to"}, []string{"r"}, nil), node("Transpose", "", []string{"r"}, []string{"y"}, map[string]any{"perm": []int{0, 2, 1, 3}}),
		}}
	if _, err := Translate(t.Context(), model(g)); err != nil {
		t.Fatal(err)
	}
}

// TestSizesBesideAnOpenBatch: images are resized to given sizes, while the batch size is the input's.
func TestSizesBesideAnOpenBatch(t *testing.T) {
	sizes := tensor.New(tensor.Int64, 3)
	copy(tensor.Values[int64](sizes), []int64{4, 9, 7})
	g := onnx.Graph{Inputs: []onnx.Value{images("x", 4, 16, 16)}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Initializers: []onnx.Initializer{{Name: "sizes", Tensor: sizes}, {Name: "zero", Tensor: tensor.New(tensor.Int64, 1)}},
		Nodes: []onnx.Node{node("Shape", "", []string{"x"}, []string{"s"}, nil), node("Gather", "", []string{"s", "zero"}, []string{"b"}, nil),
			node("Concat", "", []string{"b", "sizes"}, []string{"to"}, map[string]any{"axis": 0}), node("Resize", "", []string{"x", "", "", "to"}, []string{"y"}, map[string]any{"mode": "linear"})}}
	if _, err := Translate(t.Context(), model(g)); err != nil {
		t.Fatal(err)
	}
}

// TestIntegerOperandsAreOfBytes: integer operators only take 8 bits, as in ONNX Runtime. Wider integers, and floats, would become float products.
func TestIntegerOperandsAreOfBytes(t *testing.T) {
	operands := map[string][]string{
		"MatMulInteger": {"x", "x"}, "ConvInteger": {"x", "w"}, "QLinearMatMul": {"x", "s", "z", "x", "s", "z", "s", "z"}, "QLinearConv": {"x", "s", "z", "w", "s", "z", "s", "z"},
		"QLinearAdd": {"x", "s", "z", "x", "s", "z", "s", "z"}, "QLinearMul": {"x", "s", "z", "x", "s", "z", "s", "z"}, "QGemm": {"m", "s", "z", "m", "s", "z"},
		"QLinearLeakyRelu": {"x", "s", "z", "s", "z"}, "QLinearSigmoid": {"x", "s", "z", "s", "z"}, "QLinearGlobalAveragePool": {"x", "s", "z", "s", "z"},
		"MatMulIntegerToFloat": {"x", "x", "s", "s"}, "DynamicQuantizeMatMul": {"f", "x", "s", "z"},
		"QLinearConcat": {"s", "z", "x", "s", "z", "x", "s", "z"}, "DynamicQuantizeLSTM": {"t", "cell", "cell", "", "", "", "", "", "ss", "zz", "ss", "zz"}}
	for op, in := range operands {
		for _, d := range []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Int64, tensor.Float16, tensor.Float32, tensor.Int16} {
			dims := func(n ...int) (all []onnx.Dim) {
				for _, size := range n {
					all = append(all, onnx.Dim{Size: size})
				}
				return all
			}
			n := node(op, "", in, []string{"y"}, nil)
			if domains()[""][op].do == nil {
				n.Domain = runtimeDomain
			}
			inputs := []onnx.Value{{Name: "x", DType: d, Dims: dims(2, 3, 4, 4)}, {Name: "m", DType: d, Dims: dims(4, 4)}, {Name: "f", DType: tensor.Float32, Dims: dims(2, 3, 4, 4)},
				{Name: "t", DType: tensor.Float32, Dims: dims(3, 2, 2)}, {Name: "cell", DType: d, Dims: dims(1, 2, 8)}}
			m := model(onnx.Graph{Inputs: inputs, Outputs: []onnx.Value{{Name: "y", Unranked: true}}, Nodes: []onnx.Node{n}, Initializers: []onnx.Initializer{
				{Name: "w", Tensor: tensor.New(d, 3, 3, 2, 2)}, {Name: "s", Tensor: tensor.Scalar(float32(0.5))}, {Name: "z", Tensor: tensor.New(d)},
				{Name: "ss", Tensor: tensor.New(tensor.Float32, 1)}, {Name: "zz", Tensor: tensor.New(d, 1)}}})
			m.Opsets[runtimeDomain] = 1
			_, err := Translate(t.Context(), m)
			if bytes := d == tensor.Uint8 || d == tensor.Int8; bytes != (err == nil) || !bytes && !strings.Contains(err.Error(), fmt.Sprintf("of type %v: expected int8 or uint8", d)) {
				t.Errorf("%s of %v: got %v", op, d, err)
			}
		}
	}
}

// TestIntegersOfFourBitsAreNamed: they are bytes in the graph, but errors name the model's type.
func TestIntegersOfFourBitsAreNamed(t *testing.T) {
	g := onnx.Graph{Inputs: []onnx.Value{{Name: "x", DType: tensor.Int8, Dims: []onnx.Dim{{Size: 2}, {Size: 4}}}}, Outputs: []onnx.Value{{Name: "y", Unranked: true}},
		Nodes:        []onnx.Node{node("MatMulInteger", "", []string{"x", "w"}, []string{"y"}, nil)},
		Initializers: []onnx.Initializer{{Name: "w", Tensor: tensor.New(tensor.Int4, 4, 4)}}}
	if _, err := Translate(t.Context(), model(g)); err == nil || !strings.Contains(err.Error(), "input 1 of type int4: expected int8 or uint8") {
		t.Errorf("got %v", err)
	}
}
