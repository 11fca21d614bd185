package stablehlograph_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/npz"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// recorded is a program of interop/python/stablehlo_cases.py, with inputs and JAX's outputs.
type recorded map[string]*tensor.Tensor

// list returns the tensors with a prefix, in order.
func (r recorded) list(prefix string) (all []*tensor.Tensor) {
	for i := 0; r[fmt.Sprintf("%s_%d", prefix, i)] != nil; i++ {
		all = append(all, r[fmt.Sprintf("%s_%d", prefix, i)])
	}
	return all
}

// readCase reads the arrays of a case.
func readCase(t testing.TB, file io.ReaderAt, size int64) recorded {
	t.Helper()
	z, err := zip.NewReader(file, size)
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := npz.Arrays(z, file)
	if err != nil {
		t.Fatal(err)
	}
	out := recorded{}
	for _, a := range arrays {
		if out[a.Name], err = a.Load(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

type attrValue = attr_value_go_proto.AttrValue

func typeAttr(d tensor.DType) *attrValue {
	return &attrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: types_go_proto.DataType(d)}}
}

func typesAttr(all []*tensor.Tensor) *attrValue {
	list := &attr_value_go_proto.AttrValue_ListValue{}
	for _, t := range all {
		list.Type = append(list.Type, types_go_proto.DataType(t.DType))
	}
	return &attrValue{Value: &attr_value_go_proto.AttrValue_List{List: list}}
}

// model makes a SavedModel from a module: a graph of one node.
func model(t testing.TB, module []byte, in, out []*tensor.Tensor, open bool) *savedmodel.MetaGraph {
	n := &node_def_go_proto.NodeDef{Name: "module", Op: "XlaCallModule", Attr: map[string]*attrValue{
		"module": {Value: &attr_value_go_proto.AttrValue_S{S: module}}, "Tin": typesAttr(in), "Tout": typesAttr(out),
	}}
	gd := &graph_go_proto.GraphDef{}
	sig := &pb.SignatureDef{Inputs: map[string]*pb.TensorInfo{}, Outputs: map[string]*pb.TensorInfo{}}
	for i, x := range in {
		name := fmt.Sprintf("x_%d", i)
		shape := &tensor_shape_go_proto.TensorShapeProto{}
		for _, d := range x.Shape {
			if open {
				d = -1
			}
			shape.Dim = append(shape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: int64(d)})
		}
		gd.Node = append(gd.Node, &node_def_go_proto.NodeDef{Name: name, Op: "Placeholder", Attr: map[string]*attrValue{"dtype": typeAttr(x.DType), "shape": {Value: &attr_value_go_proto.AttrValue_Shape{Shape: shape}}}})
		n.Input = append(n.Input, name)
		sig.Inputs[name] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: name + ":0"}, Dtype: types_go_proto.DataType(x.DType), TensorShape: shape}
	}
	gd.Node = append(gd.Node, n)
	for i, y := range out {
		sig.Outputs[fmt.Sprintf("y_%d", i)] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: fmt.Sprintf("module:%d", i)}, Dtype: types_go_proto.DataType(y.DType)}
	}
	sigs := map[string]*pb.SignatureDef{"serving_default": sig}
	return &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sigs, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sigs}}
}

// check loads the module of a case and compares its outputs with JAX's.
func (r recorded) check(t *testing.T) {
	in, want := r.list("in"), r.list("out")
	more := r.list("more_in")
	s, err := session.Load(t.Context(), model(t, r["module"].Bytes, in, want, more != nil), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r.run(t, s, in, want)
	if more != nil {
		r.run(t, s, more, r.list("more_out"))
	}
}

func (r recorded) run(t *testing.T, s *session.Session, in, want []*tensor.Tensor) {
	t.Helper()
	feeds, fetches := map[string]*tensor.Tensor{}, []string{}
	for i, x := range in {
		feeds[fmt.Sprintf("x_%d:0", i)] = x
	}
	for i := range want {
		fetches = append(fetches, fmt.Sprintf("module:%d", i))
	}
	got, err := s.Run(t.Context(), feeds, fetches)
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range got {
		if err := same(y, want[i]); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

// tolerance is for floats, relative to 1 or to the number.
const tolerance = 2e-5

func same(got, want *tensor.Tensor) error {
	if got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) && len(got.Shape)+len(want.Shape) > 0 {
		return fmt.Errorf("got %v %v, expected %v %v", got.DType, got.Shape, want.DType, want.Shape)
	}
	for i := range want.Len() {
		if !want.DType.Float() {
			if got.Int(i) != want.Int(i) {
				return fmt.Errorf("element %d: got %d, expected %d", i, got.Int(i), want.Int(i))
			}
			continue
		}
		g, w := got.Float(i), want.Float(i)
		if math.IsNaN(g) && math.IsNaN(w) || g == w {
			continue
		}
		if math.IsInf(w, 0) || !(math.Abs(g-w) <= tolerance*math.Max(1, math.Abs(w))) {
			return fmt.Errorf("element %d: got %v, expected %v", i, g, w)
		}
	}
	return nil
}

// eachCase runs the cases of an archive, and returns their number.
func eachCase(t *testing.T, path string, run func(t *testing.T, r recorded)) (n int) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := tar.NewReader(bzip2.NewReader(file))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(strings.TrimSuffix(h.Name, ".npz"), func(t *testing.T) { run(t, readCase(t, bytes.NewReader(b), int64(len(b)))) })
	}
}

// Programs of two versions of JAX, with bytecode of versions 0 and 6, made by interop/python/stablehlo_cases.py.
func TestRecordedCases(t *testing.T) {
	testkit.NotConcurrent(t)
	for _, name := range []string{"jax_0.4.23", "jax_0.10.2"} {
		t.Run(name, func(t *testing.T) {
			if n := eachCase(t, "testdata/"+name+".tar.bz2", func(t *testing.T, r recorded) { r.check(t) }); n < 180 {
				t.Errorf("%d cases", n)
			}
		})
	}
}

// The same programs, as the installed JAX exports them.
func TestCasesOfJAX(t *testing.T) {
	python := jax(t)
	path := filepath.Join(t.TempDir(), "cases.tar.bz2")
	if out, err := exec.CommandContext(t.Context(), python, filepath.Join(testkit.Root(), "interop/python/stablehlo_cases.py"), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eachCase(t, path, func(t *testing.T, r recorded) { r.check(t) })
}

// jax returns a Python interpreter with JAX, or skips. The environment variable GOESTIMATOR_JAX names one.
func jax(t *testing.T) string {
	t.Helper()
	testkit.NotConcurrent(t)
	for _, path := range []string{os.Getenv("GOESTIMATOR_JAX"), filepath.Join(testkit.Root(), ".venv/bin/python")} {
		if path != "" && exec.CommandContext(t.Context(), path, "-c", "import jax").Run() == nil {
			return path
		}
	}
	t.Skip("skipped: neither .venv nor the interpreter that GOESTIMATOR_JAX names has JAX")
	return ""
}
