package graphdef

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// golden returns the GraphDefs of the SavedModels that TensorFlow Serving tests with.
func golden(t testing.TB) map[string]*graph_go_proto.GraphDef {
	root := testkit.Shared(t, "golden/tensorflow-serving")
	out := map[string]*graph_go_proto.GraphDef{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "saved_model.pb" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sm := &for_core_protos_go_proto.SavedModel{}
		if err := proto.Unmarshal(data, sm); err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		for _, mg := range sm.GetMetaGraphs() {
			out[rel+" "+strings.Join(mg.GetMetaInfoDef().GetTags(), ",")] = mg.GetGraphDef()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no golden SavedModel")
	}
	return out
}

func roundTrip(t *testing.T, gd *graph_go_proto.GraphDef) *graph.Graph {
	t.Helper()
	g, err := FromGraphDef(gd)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ToGraphDef(graph.Clone(g))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(gd, back, protocmp.Transform()); d != "" {
		t.Fatalf("round trip (-want +got):\n%s", d)
	}
	return g
}

func TestGoldenRoundTrip(t *testing.T) {
	for name, gd := range golden(t) {
		t.Run(name, func(t *testing.T) {
			g := roundTrip(t, gd)
			if err := graph.Validate(g); err != nil {
				t.Error(err)
			}
			text, err := MarshalText(g)
			if err != nil {
				t.Fatal(err)
			}
			again, err := readText(text)
			if err != nil {
				t.Fatal(err)
			}
			a, err := Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := Marshal(again); err != nil || string(a) != string(b) {
				t.Fatalf("the text form gives other bytes (%v)", err)
			}
			for _, n := range g.Nodes() {
				for i, o := range n.Outputs {
					if o.DType == tensor.Invalid {
						t.Errorf("node %s (%s): output %d has no type", n.Name, n.Op, i)
					}
				}
			}
		})
	}
}

// readText reads what MarshalText writes.
func readText(text []byte) (*graph.Graph, error) {
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal(text, gd); err != nil {
		return nil, err
	}
	return FromGraphDef(gd)
}

// everything is a GraphDef with each kind of attribute, edge and extra.
const everything = `
node { name: "p" op: "Placeholder" device: "/device:CPU:0"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } }
  attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 3 } } } } }
  experimental_debug_info { original_node_names: "orig" }
  experimental_type { type_id: TFT_PRODUCT args { type_id: TFT_TENSOR } } }
node { name: "later" op: "Mystery" input: "p" input: "split:2" input: "^init" input: "^p"
  attr { key: "s" value { s: "bytes" } }
  attr { key: "i" value { i: -5 } }
  attr { key: "f" value { f: 0.5 } }
  attr { key: "b" value { b: false } }
  attr { key: "u" value { shape { unknown_rank: true } } }
  attr { key: "func" value { func { name: "fn" attr { key: "x" value { list { i: 1 i: 2 } } } } } }
  attr { key: "ph" value { placeholder: "T" } }
  attr { key: "none" value { } }
  attr { key: "empty" value { list { } } }
  attr { key: "ls" value { list { s: "a" s: "" } } }
  attr { key: "lf" value { list { f: 1 f: 2 } } }
  attr { key: "lb" value { list { b: true b: false } } }
  attr { key: "lt" value { list { type: DT_INT32 type: DT_FLOAT_REF } } }
  attr { key: "lshape" value { list { shape { } shape { unknown_rank: true } } } }
  attr { key: "ltensor" value { list { tensor { dtype: DT_INT32 tensor_shape { } int_val: 4 } } } }
  attr { key: "lfunc" value { list { func { name: "a" } func { name: "b" } } } } }
node { name: "split" op: "Split" input: "c" input: "later:1"
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_split" value { i: 3 } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 4 } } int_val: 7 int_val: 8 } } } }
node { name: "h" op: "Const" attr { key: "dtype" value { type: DT_HALF } }
  attr { key: "value" value { tensor { dtype: DT_HALF half_val: 15360 } } } }
node { name: "str" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "x" string_val: "" } } } }
node { name: "init" op: "NoOp" }
library { function { signature { name: "fn" } } gradient { function_name: "fn" gradient_func: "g" } }
versions { producer: 1234 min_consumer: 12 bad_consumers: 7 bad_consumers: 9 }
version: 3
debug_info { files: "a.py" }
`

func TestEverythingSurvives(t *testing.T) {
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(everything), gd); err != nil {
		t.Fatal(err)
	}
	g := roundTrip(t, gd)
	later := g.Node("later")
	if len(later.Outputs) != 2 || len(g.Node("split").Outputs) != 3 || len(g.Node("init").Outputs) != 0 {
		t.Errorf("outputs: Mystery %v (want 2), Split %v (want 3), NoOp %v (want none)", later.Outputs, g.Node("split").Outputs, g.Node("init").Outputs)
	}
	if got := g.Node("split").Outputs[1].DType; got != tensor.Float32 {
		t.Errorf("Split output: %v, want float32", got)
	}
	if got := tensor.Values[int32](g.Node("c").Attrs["value"].(*tensor.Tensor)); !cmp.Equal(got, []int32{7, 8, 8, 8}) {
		t.Errorf("compressed constant: %v, want [7 8 8 8]", got)
	}
	if later.Control[0] != g.Node("init") || later.Inputs[1] != g.Node("split").Out(2) {
		t.Error("edges lead elsewhere")
	}
	for _, empty := range []*graph_go_proto.GraphDef{{}, {Versions: &versions_go_proto.VersionDef{}}} {
		roundTrip(t, empty)
	}
}

// TestSymbolicRoundTrip goes from the representation to a GraphDef and back.
func TestSymbolicRoundTrip(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(28, 28)})
	rows := graph.Shape{Dims: []graph.Dim{{PerBatch: 49, Const: 3}, graph.Unknown, graph.Fixed(0)}}
	b.Node("Custom", "custom", []graph.Type{{DType: tensor.Float32, Shape: rows}, {DType: tensor.Int64, Shape: graph.Shape{UnknownRank: true}}}, nil, x)
	b.Node("CustomSink", "sink", nil, graph.Attrs{"n": int64(1)}, x)
	v := b.Variable("w", graph.Type{DType: tensor.Float64, Shape: graph.ShapeOf(3)})
	r := b.Read(v, graph.Type{DType: tensor.Float64, Shape: graph.ShapeOf(3)}, x.Node)
	b.Op("Relu", "relu", r.Type(), graph.Attrs{"T": tensor.Float64}, r)
	b.Scalar("one", tensor.Float32, 1)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	data, err := Marshal(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range b.Graph.Nodes() {
		n := got.Nodes()[i]
		if n.Name != want.Name || n.Op != want.Op || !cmp.Equal(n.Outputs, want.Outputs, cmpopts.EquateEmpty()) {
			t.Errorf("node %d: %s %v, want %s %v", i, n.Name, n.Outputs, want.Name, want.Outputs)
		}
		if d := cmp.Diff(map[string]any(want.Attrs), map[string]any(n.Attrs), cmp.Comparer(sameTensor)); d != "" && len(want.Attrs)+len(n.Attrs) > 0 {
			t.Errorf("node %s: attributes (-want +got):\n%s", n.Name, d)
		}
	}
	if again, err := Marshal(got); err != nil || string(again) != string(data) {
		t.Errorf("a second round gives other bytes (%v)", err)
	}
}

func sameTensor(a, b *tensor.Tensor) bool {
	return a.DType == b.DType && string(a.Bytes) == string(b.Bytes) && cmp.Equal(a.Strings, b.Strings) && len(a.Shape) == len(b.Shape)
}

func TestTensorsOfEveryType(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Uint8, tensor.Int16, tensor.Int8, tensor.Complex64, tensor.Int64,
		tensor.Bool, tensor.BFloat16, tensor.Uint16, tensor.Float16, tensor.Uint32, tensor.Uint64, tensor.String} {
		for _, shape := range [][]int{nil, {1}, {0, 3}, {2, 3}} {
			a := tensor.New(d, shape...)
			for i := range a.Bytes {
				a.Bytes[i] = byte(i*37 + 200)
				if d == tensor.Bool {
					a.Bytes[i] = byte(i % 2)
				}
			}
			for i := range a.Strings {
				a.Strings[i] = []byte{byte(i), 0xff}
			}
			for _, enc := range []string{"", "field 1", "field 6", "content"} {
				p, err := writeTensor(a, enc)
				if err != nil {
					t.Fatalf("%v%v: %v", d, shape, err)
				}
				b, err := FromTensorProto(p)
				if err != nil || !sameTensor(a, b) {
					t.Errorf("%v%v as %q: %v, got %v, want %v", d, shape, enc, err, b, a)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	huge := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: []float32{1},
		TensorShape: &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: 1 << 40}, {Size: 1 << 40}}}}
	big := proto.Clone(huge).(*tensor_go_proto.TensorProto)
	big.TensorShape.Dim = []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: 1 << 34}}
	value := func(p *tensor_go_proto.TensorProto) *graph_go_proto.GraphDef {
		return &graph_go_proto.GraphDef{Node: []*node_def_go_proto.NodeDef{{Name: "c", Op: "Const", Attr: map[string]*attr_value_go_proto.AttrValue{
			"value": {Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: p}}}}}}
	}
	text := func(s string) *graph_go_proto.GraphDef {
		gd := &graph_go_proto.GraphDef{}
		if err := prototext.Unmarshal([]byte(s), gd); err != nil {
			t.Fatal(err)
		}
		return gd
	}
	for want, gd := range map[string]*graph_go_proto.GraphDef{
		"no graph":                           nil,
		"is missing":                         {Node: []*node_def_go_proto.NodeDef{nil}},
		"too large":                          value(huge),
		"expand to more than":                value(big),
		"type DT_RESOURCE":                   value(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_RESOURCE}),
		"expected a numeric type":            value(&tensor_go_proto.TensorProto{}),
		"with 2 values":                      value(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_INT64, Int64Val: []int64{1, 2}}),
		"bytes of content":                   value(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_INT64, TensorContent: []byte{1}}),
		"no such node":                       text(`node { name: "a" op: "Relu" input: "b" }`),
		"duplicate node name":                text(`node { name: "a" op: "NoOp" } node { name: "a" op: "NoOp" }`),
		"both a name and an op":              text(`node { name: "a" }`),
		"control inputs last":                text(`node { name: "a" op: "NoOp" } node { name: "b" op: "Relu" input: "^a" input: "a" }`),
		"expected \"node\", \"node:output\"": text(`node { name: "a" op: "Relu" input: "a:x" }`),
		"output 4 is used":                   text(`node { name: "a" op: "Relu" input: "a:4" }`),
		"list of several kinds":              text(`node { name: "a" op: "X" attr { key: "l" value { list { i: 1 f: 2 } } } }`),
		"has a name":                         text(`node { name: "a" op: "X" attr { key: "l" value { shape { dim { size: 1 name: "batch" } } } } }`),
		"expected >= -1":                     text(`node { name: "a" op: "X" attr { key: "l" value { shape { dim { size: -2 } } } } }`),
		"reserved":                           text(`node { name: "a" op: "X" attr { key: "_goestimator_node" value { s: "x" } } }`),
		"disagrees":                          text(`node { name: "a" op: "X" attr { key: "_output_shapes" value { list { shape { dim { size: 2 } } } } } attr { key: "_goestimator_dims" value { list { s: "[B]" } } } }`),
		"positive multiple of the batch":     text(`node { name: "a" op: "X" attr { key: "_output_shapes" value { list { shape { dim { size: -1 } } } } } attr { key: "_goestimator_dims" value { list { s: "[-2B+3]" } } } }`),
		"outputs":                            text(`node { name: "a" op: "Split" attr { key: "num_split" value { i: 1000000000 } } }`),
	} {
		if _, err := FromGraphDef(gd); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestManyOutputs(t *testing.T) {
	gd := &graph_go_proto.GraphDef{}
	for i := range 40 {
		gd.Node = append(gd.Node, &node_def_go_proto.NodeDef{Name: strings.Repeat("n", i+1), Op: "Split",
			Attr: map[string]*attr_value_go_proto.AttrValue{"num_split": {Value: &attr_value_go_proto.AttrValue_I{I: maxOutputs}}}})
	}
	if _, err := FromGraphDef(gd); err == nil || !strings.Contains(err.Error(), "outputs") {
		t.Errorf("got %v, want an error about the number of outputs", err)
	}
}

func FuzzFromText(f *testing.F) {
	f.Add(everything)
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := readText([]byte(text)); err == nil {
			if _, err := MarshalText(g); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(everything), gd); err != nil {
		f.Fatal(err)
	}
	seed, err := proto.Marshal(gd)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Unmarshal(data)
		if err != nil {
			return
		}
		out, err := Marshal(g)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Unmarshal(out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if twice, err := Marshal(again); err != nil || string(twice) != string(out) {
			t.Fatalf("a second round gives other bytes (%v)", err)
		}
	})
}
