package interop_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// refusedByONNX are cases that cannot be translated although their ops can, with a part of the error.
var refusedByONNX = map[string]string{
	"FusedBatchNormV3 train":    "is_training",
	"FloorMod":                  "only integers",
	"Conv2D channels first":     "NCHW",
	"MaxPool channels first":    "NCHW",
	"BiasAdd channels first":    "NCHW",
	"GatherV2 batch2":           "batch_dims 2",
	"StridedSlice ellipsis":     "ellipsis",
	"StridedSlice new axis":     "new axis",
	"Slice computed":            "computed",
	"AsString float":            "another way",
	"UnsortedSegmentSum matrix": "rank 2",
}

// TestONNXOpsAgree translates a table of ops one by one: ONNX Runtime gives the same results
// as TensorFlow. The table has every op that can be translated.
func TestONNXOpsAgree(t *testing.T) {
	py := peers(t)
	s := newOpSheet(t)
	translated := export.OnnxOps()
	untested := slices.DeleteFunc(slices.Clone(translated), func(op string) bool { return op == "VarHandleOp" || op == "ReadVariableOp" || op == "Const" })
	dir := t.TempDir()
	type onnxCase struct {
		Name    string
		Model   string
		Outputs []string // in TensorFlow's graph
	}
	var list []onnxCase
	for _, c := range slices.Concat(imageOps(), classOps(), mathOps(), shapeOps(), onnxImageOps(), onnxMathOps(), onnxShapeOps(), onnxIndexOps()) {
		op, _, _ := strings.Cut(c.name, " ")
		if strings.HasSuffix(op, "Grad") && !slices.Contains(translated, op) {
			continue
		}
		before := len(s.fetches)
		s.add(c)
		if err := s.b.Err(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !slices.Contains(translated, op) {
			continue
		}
		model, err := export.ONNX(atomicfile.OS{}, filepath.Join(dir, fmt.Sprint(len(list))), s.onnx(s.fetches[before:]), export.Options{})
		if want := refusedByONNX[c.name]; want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, expected an error that says %q", c.name, err, want)
			}
			s.fetches = s.fetches[:before]
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		untested = slices.DeleteFunc(untested, func(o string) bool { return o == op })
		oc := onnxCase{Name: c.name, Model: filepath.Join(model, export.OnnxFile)}
		for _, f := range s.fetches[before:] {
			oc.Outputs = append(oc.Outputs, f.String())
		}
		list = append(list, oc)
	}
	if len(untested) > 0 {
		t.Errorf("no case runs the translations of %v", untested)
	}
	def, err := graphdef.Marshal(s.b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "graph.pb"), def)
	save(t, filepath.Join(dir, "feeds"), s.feeds)
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cases.json"), text)
	py.run(t, "onnx_ops.py", dir)
}

// onnx is the part of the sheet that computes the given outputs.
func (s *opSheet) onnx(outputs []graph.Output) export.Model {
	g := export.Graph{Mode: models.Predict, IR: s.b.Graph, Input: export.Raw(), Signatures: []export.Signature{{Name: "predict", Kind: export.Predict}}}
	for _, p := range s.ins {
		x := s.feeds[p.Node.Name+":0"]
		g.Feeds = append(g.Feeds, export.Feed{Column: inputs.Column{Name: p.Node.Name, DType: x.DType, Shape: x.Shape[1:]}, Values: p})
	}
	for i, o := range outputs {
		g.Signatures[0].Outputs = append(g.Signatures[0].Outputs, export.Named{Name: fmt.Sprintf("out%d", i), Output: o})
	}
	return export.Model{Graphs: []export.Graph{g}}
}

func onnxImageOps() []opCase {
	x, k := random(2, 7, 8, 4), random(3, 3, 4, 6)
	first := func(a graph.Attrs) graph.Attrs {
		a = maps.Clone(a)
		a["data_format"] = []byte("NCHW")
		return a
	}
	dilated := func(n int64) []any { return []any{"dilations", []int64{1, n, n, 1}} }
	none := []any{"dilations", []int64{1, 1, 1, 1}}
	v := random(2, 5, 4, 7, 3)
	volume := func(padding string, stride int64, pairs ...any) graph.Attrs {
		return of(append([]any{"padding", []byte(padding), "strides", []int64{1, stride, stride, stride, 1}, "data_format", []byte("NDHWC")}, pairs...)...)
	}
	return []opCase{
		{"Conv2D dilated same", window("SAME", 1, dilated(2)...), []operand{x, k}, float(2, 7, 8, 6), 0},
		{"Conv2D dilated valid", window("VALID", 1, dilated(3)...), []operand{x, k}, float(2, 1, 2, 6), 0},
		{"Conv2D wide", window("SAME", 3, none...), []operand{x, random(1, 1, 4, 2)}, float(2, 3, 3, 2), 0},
		{"Conv2D even", window("SAME", 2, none...), []operand{x, random(4, 2, 4, 2)}, float(2, 4, 4, 2), 0},
		{"Conv2D groups", window("SAME", 1, none...), []operand{x, random(3, 3, 2, 6)}, float(2, 7, 8, 6), 0},
		{"Conv2D channels first", first(window("VALID", 1, none...)), []operand{random(2, 4, 7, 8), k}, float(2, 6, 5, 6), 0},
		{"Conv2DBackpropInput valid", window("VALID", 3, none...), []operand{fixed(tensor.Int32, 2, 7, 8, 4), random(2, 3, 4, 6), random(2, 2, 2, 6)}, float(2, 7, 8, 4), 0},
		{"Conv2DBackpropInput even", window("SAME", 2, none...), []operand{fixed(tensor.Int32, 2, 8, 7, 4), random(4, 2, 4, 6), random(2, 4, 4, 6)}, float(2, 8, 7, 4), 0},
		{"Conv3D same", volume("SAME", 2), []operand{v, random(3, 2, 3, 3, 5)}, float(2, 3, 2, 4, 5), 0},
		{"Conv3D valid", volume("VALID", 1), []operand{v, random(2, 2, 3, 3, 5)}, float(2, 4, 3, 5, 5), 0},
		{"Conv3DBackpropInputV2 same", volume("SAME", 2, "Tshape", tensor.Int32), []operand{fixed(tensor.Int32, 2, 5, 4, 7, 3), random(3, 2, 3, 3, 6), random(2, 3, 2, 4, 6)}, float(2, 5, 4, 7, 3), 0},
		{"Conv3DBackpropInputV2 valid", volume("VALID", 2, "Tshape", tensor.Int32), []operand{fixed(tensor.Int32, 2, 5, 4, 7, 3), random(1, 2, 3, 3, 6), random(2, 3, 2, 3, 6)}, float(2, 5, 4, 7, 3), 0},
		{"MaxPool3D same", volume("SAME", 2, "ksize", []int64{1, 3, 2, 2, 1}), []operand{v}, float(2, 3, 2, 4, 3), 0},
		{"AvgPool3D same", volume("SAME", 2, "ksize", []int64{1, 3, 3, 2, 1}), []operand{v}, float(2, 3, 2, 4, 3), 0},
		{"AvgPool3D valid", volume("VALID", 1, "ksize", []int64{1, 2, 2, 2, 1}), []operand{v}, float(2, 4, 3, 6, 3), 0},
		{"MaxPool even", pool("SAME", 2, 3), []operand{x}, float(2, 3, 3, 4), 0},
		{"MaxPool channels first", first(pool("VALID", 1, 1)), []operand{x}, float(2, 7, 8, 4), 0},
		{"AvgPool valid", pool("VALID", 3, 2), []operand{x}, float(2, 3, 3, 4), 0},
		{"AvgPool even", pool("SAME", 4, 3), []operand{x}, float(2, 3, 3, 4), 0},
		{"BiasAdd", of("data_format", []byte("NHWC")), []operand{x, random(4)}, float(2, 7, 8, 4), 0},
		{"BiasAdd channels first", of("data_format", []byte("NCHW")), []operand{x, random(7)}, float(2, 7, 8, 4), 0},
		{"FusedBatchNorm", graph.Attrs{"T": tensor.Float32, "epsilon": float32(1e-3), "data_format": []byte("NHWC"), "is_training": false},
			[]operand{random(2, 3, 3, 3), given(tensor.Float32, 1, 2, 3), random(3), random(3), given(tensor.Float32, 1, .5, 2)},
			[]graph.Type{typ(tensor.Float32, 2, 3, 3, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 3)}, 4},
		{"FusedBatchNormV2", graph.Attrs{"T": tensor.Float32, "U": tensor.Float32, "epsilon": float32(1e-3), "data_format": []byte("NHWC"), "is_training": false},
			[]operand{random(2, 3, 3, 3), given(tensor.Float32, 1, 2, 3), random(3), random(3), given(tensor.Float32, 1, .5, 2)},
			[]graph.Type{typ(tensor.Float32, 2, 3, 3, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 3)}, 4},
	}
}

func onnxMathOps() []opCase {
	positive := given(tensor.Float32, 0.5, 1e-3, 4, 30)
	odd := given(tensor.Float32, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7.2, -3)
	i32 := graph.Attrs{"T": tensor.Int32}
	x, y := given(tensor.Int32, 7, -7, 7, -7, 6, 0), given(tensor.Int32, 2, 2, -2, -2, 3, 5)
	truths := []graph.Type{typ(tensor.Bool, 8)}
	ints := []graph.Type{typ(tensor.Int32, 6)}
	reduced := func(d tensor.DType, keep bool) graph.Attrs {
		return graph.Attrs{"T": d, "Tidx": tensor.Int32, "keep_dims": keep}
	}
	cast := func(from, to tensor.DType) graph.Attrs {
		return graph.Attrs{"SrcT": from, "DstT": to, "Truncate": false}
	}
	all := []opCase{
		{"Log", f32, []operand{positive}, float(4), 0}, {"Sqrt", f32, []operand{positive}, float(4), 0}, {"Reciprocal", f32, []operand{positive}, float(4), 0}, {"Inv", f32, []operand{positive}, float(4), 0},
		{"Pow", f32, []operand{positive, given(tensor.Float32, 2, -1, 0.5, 0)}, float(4), 0},
		{"AddN", of("N", int64(3)), []operand{random(3, 2), random(3, 2), random(3, 2)}, float(3, 2), 0},
		{"Equal", graph.Attrs{"T": tensor.Int32, "incompatible_shape_error": true}, []operand{x, given(tensor.Int32, 7, 7, 7, -7, 0, 0)}, []graph.Type{typ(tensor.Bool, 6)}, 0},
		{"NotEqual", of("incompatible_shape_error", true), []operand{odd, number(tensor.Float32, 0.5)}, truths, 0},
		{"Less", f32, []operand{odd, number(tensor.Float32, 0.5)}, truths, 0},
		{"LessEqual", f32, []operand{odd, number(tensor.Float32, 0.5)}, truths, 0},
		{"Greater", f32, []operand{odd, number(tensor.Float32, -1)}, truths, 0},
		{"GreaterEqual", i32, []operand{x, y}, []graph.Type{typ(tensor.Bool, 6)}, 0},
		{"LogicalNot", nil, []operand{from("Less:0")}, truths, 0},
		{"LogicalAnd", nil, []operand{from("Less:0"), from("Greater:0")}, truths, 0},
		{"LogicalOr", nil, []operand{from("Less:0"), from("Greater:0")}, truths, 0},
		{"IsNan", f32, []operand{from("Log:0")}, []graph.Type{typ(tensor.Bool, 4)}, 0},
		{"IsInf", f32, []operand{from("Log:0")}, []graph.Type{typ(tensor.Bool, 4)}, 0},
		{"SelectV2", f32, []operand{from("Less:0"), random(2, 8), number(tensor.Float32, 3)}, float(2, 8), 0},
		{"FloorDiv", i32, []operand{x, y}, ints, 0}, {"FloorDiv float", f32, []operand{odd, number(tensor.Float32, -0.7)}, float(8), 0},
		{"FloorMod int", i32, []operand{x, y}, ints, 0},
		{"Maximum int", i32, []operand{x, y}, ints, 0}, {"Abs int", i32, []operand{x}, ints, 0}, {"Neg int", i32, []operand{x}, ints, 0}, {"Square int", i32, []operand{x}, ints, 0},
		{"MatMul", of("transpose_a", false, "transpose_b", false), []operand{random(3, 5), random(5, 4)}, float(3, 4), 0},
		{"BatchMatMul", of("adj_x", false, "adj_y", true), []operand{random(2, 3, 5), random(2, 4, 5)}, float(2, 3, 4), 0},
		{"Softmax rank3", f32, []operand{random(2, 3, 4)}, float(2, 3, 4), 0},
		{"Sum", reduced(tensor.Float32, false), []operand{random(3, 4, 5), fixed(tensor.Int32, -1, 0)}, float(4), 0},
		{"Sum scalar axis", reduced(tensor.Float32, true), []operand{random(3, 4), number(tensor.Int32, -2)}, float(1, 4), 0},
		{"Sum nothing", reduced(tensor.Float32, false), []operand{random(3, 4), operand{dtype: tensor.Int32, shape: []int{0}, values: []float64{}, constant: true}}, float(3, 4), 0},
		{"Sum int", reduced(tensor.Int32, false), []operand{x, fixed(tensor.Int32, 0)}, []graph.Type{typ(tensor.Int32)}, 0},
		{"Mean nothing", reduced(tensor.Float32, false), []operand{random(3, 4), operand{dtype: tensor.Int32, shape: []int{0}, values: []float64{}, constant: true}}, float(3, 4), 0},
		{"Max", reduced(tensor.Float32, false), []operand{random(3, 4), fixed(tensor.Int32, -1)}, float(3), 0},
		{"Min", reduced(tensor.Int32, true), []operand{x, fixed(tensor.Int32, 0)}, []graph.Type{typ(tensor.Int32, 1)}, 0},
		{"Prod", reduced(tensor.Float32, false), []operand{random(3, 4), fixed(tensor.Int32, 0, 1)}, float(), 0},
		{"ArgMax negative", of("Tidx", tensor.Int32, "output_type", tensor.Int32), []operand{random(3, 4), number(tensor.Int32, -2)}, []graph.Type{typ(tensor.Int32, 4)}, 0},
		{"ArgMin", of("Tidx", tensor.Int32, "output_type", tensor.Int64), []operand{random(3, 4), number(tensor.Int32, -1)}, []graph.Type{typ(tensor.Int64, 3)}, 0},
		{"Cast", cast(tensor.Float32, tensor.Int32), []operand{odd}, []graph.Type{typ(tensor.Int32, 8)}, 0},
		{"Cast bool", cast(tensor.Bool, tensor.Float32), []operand{from("Less:0")}, float(8), 0},
		{"Cast to bool", cast(tensor.Int32, tensor.Bool), []operand{x}, []graph.Type{typ(tensor.Bool, 6)}, 0},
		{"Cast wide", cast(tensor.Float32, tensor.Float64), []operand{odd}, []graph.Type{typ(tensor.Float64, 8)}, 0},
	}
	for _, op := range []string{"Abs", "Neg", "Exp", "Floor", "Ceil", "Rint", "Sign", "Sin", "Cos", "Tan", "Relu", "Square"} {
		all = append(all, opCase{op, f32, []operand{odd}, float(8), 0})
	}
	for _, op := range ops.Defs() { // ops that other lists leave out
		listed := func(c opCase) bool { return strings.HasPrefix(c.name+" ", op.Name+" ") }
		if op.Element.Float != nil && op.Onnx != "" && !slices.ContainsFunc(append(mathOps(), all...), listed) {
			all = append(all, opCase{op.Name, f32, []operand{given(tensor.Float32, 0.5, -0.75, 0, 1e-3, 1.5, -6)}, float(6), 0})
		}
	}
	for _, op := range []string{"Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum"} {
		all = append(all, opCase{op, f32, []operand{random(3, 1, 4), given(tensor.Float32, 0.5, -2)}, float(3, 1, 4), 0})
		all[len(all)-1].in[1] = random(2, 1)
		all[len(all)-1].out = float(3, 2, 4)
	}
	return all
}

func onnxShapeOps() []opCase {
	ints := func(n ...int) []graph.Type { return []graph.Type{typ(tensor.Int32, n...)} }
	sliced := func(begin, end, ellipsis, axis, shrink int64) graph.Attrs {
		return of("Index", tensor.Int32, "begin_mask", begin, "end_mask", end, "ellipsis_mask", ellipsis, "new_axis_mask", axis, "shrink_axis_mask", shrink)
	}
	x := random(3, 5, 4)
	strided := func(name string, a graph.Attrs, begin, end, stride []float64, shape ...int) opCase {
		return opCase{"StridedSlice " + name, a, []operand{x, fixed(tensor.Int32, begin...), fixed(tensor.Int32, end...), fixed(tensor.Int32, stride...)}, float(shape...), 0}
	}
	three := []graph.Type{typ(tensor.Float32, 3, 5), typ(tensor.Float32, 3, 5), typ(tensor.Float32, 3, 5), typ(tensor.Float32, 3, 5)}
	halves := []graph.Type{typ(tensor.Float32, 3, 5, 2), typ(tensor.Float32, 3, 5, 2)}
	return []opCase{
		{"Shape", of("out_type", tensor.Int32), []operand{x}, ints(3), 0},
		{"Shape wide", of("out_type", tensor.Int64), []operand{x}, []graph.Type{typ(tensor.Int64, 3)}, 0},
		{"Size", of("out_type", tensor.Int32), []operand{x}, ints(), 0},
		{"Reshape", of("Tshape", tensor.Int32), []operand{x, fixed(tensor.Int32, 3, -1)}, float(3, 20), 0},
		{"ExpandDims", of("Tdim", tensor.Int32), []operand{x, number(tensor.Int32, -1)}, float(3, 5, 4, 1), 0},
		{"ExpandDims second", of("Tdim", tensor.Int32), []operand{x, number(tensor.Int32, -3)}, float(3, 1, 5, 4), 0},
		{"Squeeze", of("squeeze_dims", []int64{-1, 0}), []operand{random(1, 5, 1)}, float(5), 0},
		{"Squeeze all", of("squeeze_dims", graph.EmptyList{}), []operand{random(1, 5, 1)}, float(5), 0},
		{"ConcatV2 last", of("N", int64(2), "Tidx", tensor.Int32), []operand{x, x, number(tensor.Int32, -1)}, float(3, 5, 8), 0},
		{"Pack", of("N", int64(2), "axis", int64(-1)), []operand{random(3, 5), random(3, 5)}, float(3, 5, 2), 0},
		{"Pack second", of("N", int64(2), "axis", int64(-2)), []operand{random(3, 5), random(3, 5)}, float(3, 2, 5), 0},
		{"Unpack", of("num", int64(4), "axis", int64(-1)), []operand{x}, three, 0},
		{"Split", of("num_split", int64(2)), []operand{number(tensor.Int32, -1), x}, halves, 0},
		{"Slice", of("Index", tensor.Int32), []operand{x, fixed(tensor.Int32, 1, 0, 2), fixed(tensor.Int32, -1, 3, 2)}, float(2, 3, 2), 0},
		{"Slice computed", of("Index", tensor.Int32), []operand{x, given(tensor.Int32, 1, 0, 2), fixed(tensor.Int32, -1, 3, 2)}, float(2, 3, 2), 0},
		{"BroadcastTo", of("Tidx", tensor.Int32), []operand{random(3, 1), fixed(tensor.Int32, 2, 3, 4)}, float(2, 3, 4), 0},
		{"Pad", of("Tpaddings", tensor.Int32), []operand{random(2, 3), fixed(tensor.Int32, 1, 0, 0, 2).as(2, 2)}, float(3, 5), 0},
		strided("backwards", sliced(7, 7, 0, 0, 0), []float64{0, 0, 0}, []float64{0, 0, 0}, []float64{-1, -2, 1}, 3, 3, 4),
		strided("few", sliced(0, 0, 0, 0, 0), []float64{-2}, []float64{100}, []float64{1}, 2, 5, 4),
		strided("last", sliced(1, 1, 0, 0, 2), []float64{0, -1}, []float64{0, 0}, []float64{1, 1}, 3, 4),
		strided("one", sliced(0, 0, 0, 0, 3), []float64{-2, 1}, []float64{-1, 2}, []float64{1, 1}, 4),
		strided("masked shrink", sliced(1, 1, 0, 0, 1), []float64{2}, []float64{0}, []float64{1}, 5, 4),
		strided("ellipsis", sliced(0, 0, 1, 0, 0), []float64{0, 1}, []float64{0, 3}, []float64{1, 1}, 3, 5, 2),
		strided("new axis", sliced(0, 0, 0, 1, 0), []float64{0}, []float64{0}, []float64{1}, 1, 3, 5, 4),
		{"Identity", f32, []operand{x}, float(3, 5, 4), 0}, {"StopGradient", f32, []operand{x}, float(3, 5, 4), 0}, {"Snapshot", f32, []operand{x}, float(3, 5, 4), 0},
		{"PreventGradient", of("message", []byte{}), []operand{x}, float(3, 5, 4), 0},
		{"ZerosLike", f32, []operand{x}, float(3, 5, 4), 0}, {"OnesLike", f32, []operand{x}, float(3, 5, 4), 0},
		{"Fill", of("index_type", tensor.Int32), []operand{fixed(tensor.Int32, 2, 3), number(tensor.Float32, 7)}, float(2, 3), 0},
		{"Range", graph.Attrs{"Tidx": tensor.Int32}, []operand{number(tensor.Int32, 2), number(tensor.Int32, 11), number(tensor.Int32, 3)}, ints(3), 0},
		{"AsString", graph.Attrs{"T": tensor.Int64, "precision": int64(-1), "scientific": false, "shortest": false, "width": int64(-1), "fill": []byte{}},
			[]operand{given(tensor.Int64, 1, -20, 300)}, []graph.Type{typ(tensor.String, 3)}, 0},
		{"AsString float", graph.Attrs{"T": tensor.Float32, "precision": int64(-1), "scientific": false, "shortest": false, "width": int64(-1), "fill": []byte{}},
			[]operand{given(tensor.Float32, 1, -20, 300)}, []graph.Type{typ(tensor.String, 3)}, 0},
	}
}

func onnxIndexOps() []opCase {
	gather := func(batch int64) graph.Attrs {
		return graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32, "Taxis": tensor.Int32, "batch_dims": batch}
	}
	at := given(tensor.Int32, 3, 0, 3, 1)
	sorted := given(tensor.Int64, 1, 3, 3, 7, 1, 1, 2, 9).as(2, 4)
	values := given(tensor.Int64, 0, 3, 8, 1, 2, 10).as(2, 3)
	bounds := graph.Attrs{"T": tensor.Int64, "out_type": tensor.Int64}
	list := []graph.Type{typ(tensor.Int64, 2, 3)}
	ids := given(tensor.Int32, 1, -1, 2, 0)
	return []opCase{
		{"GatherV2 last", gather(0), []operand{random(3, 5), at.as(2, 2), number(tensor.Int32, -1)}, float(3, 2, 2), 0},
		{"GatherV2 scalar", gather(0), []operand{random(3, 5), number(tensor.Int32, 2), number(tensor.Int32, 1)}, float(3), 0},
		{"GatherV2 batch", gather(1), []operand{random(2, 4), at.as(2, 2), number(tensor.Int32, 1)}, float(2, 2), 0},
		{"GatherV2 batch negative", gather(-1), []operand{random(2, 4), at.as(2, 2), number(tensor.Int32, 1)}, float(2, 2), 0},
		{"GatherV2 batch2", gather(2), []operand{random(2, 2, 4), at.as(2, 2), number(tensor.Int32, 2)}, float(2, 2), 0},
		{"OneHot first", of("TI", tensor.Int32, "axis", int64(0)), []operand{ids, number(tensor.Int32, 3), number(tensor.Float32, 1), number(tensor.Float32, 0)}, float(3, 4), 0},
		{"OneHot int64", graph.Attrs{"T": tensor.Int64, "TI": tensor.Int64, "axis": int64(-1)},
			[]operand{given(tensor.Int64, 1, -5, 20), number(tensor.Int32, 3), number(tensor.Int64, 1), number(tensor.Int64, 0)}, []graph.Type{typ(tensor.Int64, 3, 3)}, 0},
		{"UnsortedSegmentSum matrix", of("Tindices", tensor.Int32, "Tnumsegments", tensor.Int32), []operand{random(2, 2, 3), ids.as(2, 2), number(tensor.Int32, 3)}, float(3, 3), 0},
		{"UpperBound", bounds, []operand{sorted, values}, list, 0},
		{"LowerBound", bounds, []operand{sorted, values}, list, 0},
		{"Bucketize", graph.Attrs{"T": tensor.Float32, "boundaries": []float32{-1, 0, 2.5}}, []operand{given(tensor.Float32, -2, -1, 0, 1, 2.5, 9).as(2, 3)}, []graph.Type{typ(tensor.Int32, 2, 3)}, 0},
		{"Where", graph.Attrs{"T": tensor.Int32}, []operand{given(tensor.Int32, 1, 0, 2, 0, 0, -1).as(2, 3)}, []graph.Type{typ(tensor.Int64, 3, 2)}, 0},
		{"GatherNd", graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32}, []operand{random(2, 3, 4), given(tensor.Int32, 1, 2, 0, 1).as(2, 2)}, float(2, 4), 0},
		{"ScatterNd", of("Tindices", tensor.Int32), []operand{given(tensor.Int32, 1, 3, 1).as(3, 1), random(3, 2), fixed(tensor.Int32, 5, 2)}, float(5, 2), 0},
		{"Cumsum", of("Tidx", tensor.Int32, "exclusive", false, "reverse", false), []operand{random(2, 3), number(tensor.Int32, 1)}, float(2, 3), 0},
		{"Cumsum exclusive", of("Tidx", tensor.Int32, "exclusive", true, "reverse", false), []operand{random(2, 3), number(tensor.Int32, -2)}, float(2, 3), 0},
		{"Cumsum backwards", of("Tidx", tensor.Int32, "exclusive", true, "reverse", true), []operand{random(2, 3), number(tensor.Int32, 0)}, float(2, 3), 0},
	}
}
