package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// oddOps are the ops that the session treats specially, ops on variables, and some unknown ones.
func oddOps() []string {
	odd := map[string]bool{}
	for _, d := range ops.Defs() {
		if forms[d] != nil || len(d.With(ops.RoleConstant, ops.RoleSize)) > 0 || d.Heavy || eagerOps[d] || d.State == ops.Fed || d.State == ops.Random {
			odd[d.Name] = true
		}
	}
	for _, op := range []string{"ReadVariableOp", "VariableShape", "Identity", "Cast", "AddV2", "Relu", "Softmax", "Squeeze", "Pack", "Unpack", "Assert",
		"SparseToDense", "ParseExampleV2", "StringSplit", "If", "While", "AddN", "Cumsum", "DynamicPartition", "Where", "LookupTableFindV2"} {
		odd[op] = true
	}
	return slices.Sorted(maps.Keys(odd))
}

// oddModel is a graph of the op with that many inputs of a kind; a program reads its result together with an eager op's.
func oddModel(t *testing.T, op, kind string, inputs int) *savedmodel.MetaGraph {
	t.Helper()
	text, err := tensor.FromStrings([][]byte{[]byte("word")})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	batch := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}}
	x := b.Placeholder("x", batch)
	in := map[string]graph.Output{"fed": x}
	in["number"] = b.Const("number", tensor.Scalar(int32(-1)))
	in["vector"] = b.Const("vector", ramp(2))
	in["text"] = b.Const("text", text)
	in["variable"] = b.Variable("v", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(2)})
	assign := b.Node("AssignVariableOp", "assign", nil, graph.Attrs{"dtype": tensor.Float32}, in["variable"], in["vector"])
	n := b.Node(op, "odd", []graph.Type{{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}}, graph.Attrs{"T": tensor.Float32, "dtype": tensor.Float32},
		slices.Repeat([]graph.Output{in[kind]}, inputs)...)
	eager := b.Op("Cumsum", "eager", batch, graph.Attrs{"T": tensor.Float32}, x, b.Const("axis", tensor.Scalar(int32(1))))
	y := b.Op("AddV2", "y", batch, graph.Attrs{"T": tensor.Float32}, eager, n.Out(0))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	gd, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	info := func(o graph.Output) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{"t": {Encoding: &pb.TensorInfo_Name{Name: o.String()}}}
	}
	sig := map[string]*pb.SignatureDef{savedmodel.DefaultSignature: {Inputs: info(x), Outputs: info(y)}}
	return &savedmodel.MetaGraph{Dir: "odd", Signatures: sig, InitOps: []string{assign.Name}, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sig}}
}

// TestArity: ops with too many or too few inputs, or inputs of another kind, either fail or answer.
func TestArity(t *testing.T) {
	testkit.NotConcurrent(t)
	loaded, answered := 0, 0
	for _, op := range oddOps() {
		for _, kind := range []string{"fed", "number", "vector", "variable", "text"} {
			for inputs := range 6 {
				what := fmt.Sprintf("%s of %d x %s", op, inputs, kind)
				s, err := Load(t.Context(), oddModel(t, op, kind, inputs), Options{MaxConcurrent: 1, Limit: 1 << 20})
				if err != nil {
					NoPanic(t, what+", loaded", err)
					continue
				}
				loaded++
				for _, rows := range []int{1, 3} {
					_, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, rows, 2)}, []string{"y:0"})
					if NoPanic(t, what+", run", err); err == nil {
						answered++
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if loaded < 100 || answered < 100 {
		t.Errorf("%d models are loaded, %d runs answered: expected more of a test", loaded, answered)
	}
}

// NoPanic fails the test if err comes from a panic.
func NoPanic(t testing.TB, what string, err error) {
	t.Helper()
	if p := (*fault.Error)(nil); errors.As(err, &p) {
		t.Errorf("%s: %v: %v\n%s", what, err, p.Value, p.Stack)
	}
}
