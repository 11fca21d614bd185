package session

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// TestReciprocals: a division of floats by a constant, or by a cast constant, becomes a product. The given graph keeps its nodes, and
// other divisions stay: by inexact casts, by values of requests, and by constants much larger than in the model.
func TestReciprocals(t *testing.T) {
	typ := func(d types_go_proto.DataType) *attr_value_go_proto.AttrValue {
		return &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: d}}
	}
	float, integer := types_go_proto.DataType_DT_FLOAT, types_go_proto.DataType_DT_INT32
	node := func(name, op string, d types_go_proto.DataType, in ...string) *node_def_go_proto.NodeDef {
		return &node_def_go_proto.NodeDef{Name: name, Op: op, Input: in, Attr: map[string]*attr_value_go_proto.AttrValue{"T": typ(d), "DstT": typ(d)}}
	}
	constant := func(name string, v *tensor.Tensor) *node_def_go_proto.NodeDef {
		p, err := graphdef.ToTensorProto(v, true)
		if err != nil {
			t.Fatal(err)
		}
		return &node_def_go_proto.NodeDef{Name: name, Op: "Const", Attr: map[string]*attr_value_go_proto.AttrValue{"value": {Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: p}}}}
	}
	huge := constant("huge", tensor.Scalar(float32(5)))
	huge.Attr["value"].GetTensor().TensorShape = &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: maxReciprocals}}}
	nodes := []*node_def_go_proto.NodeDef{
		constant("three", tensor.Scalar(float32(3))), constant("twelve", tensor.Scalar(int32(12))), node("cast", "Cast", float, "twelve"), node("loop", "Identity", float, "loop"),
		node("x", "Placeholder", float), node("a", "RealDiv", float, "x", "three:0"), node("b", "Div", float, "x", "cast", "^a"),
		constant("some", tensor.Scalar(float32(3.7))), node("whole", "Cast", integer, "some"), node("again", "Cast", float, "whole"), node("g", "RealDiv", float, "x", "again"),
		constant("given", tensor.Scalar(float32(2))), node("h", "RealDiv", float, "x", "given"), node("i", "RealDiv", float, "x", "three"),
		huge, node("k", "RealDiv", float, "x", "huge"),
		node("c", "RealDiv", float, "x", "x"), node("d", "Div", integer, "x", "twelve"), node("e", "RealDiv", float, "x", "loop"), node("f", "RealDiv", float, "x"),
	}
	want := map[string]float32{"a": 1. / 3, "b": 1. / 12, "i": 1. / 3}
	factor := map[string]string{"a": "a/reciprocal", "b": "b/reciprocal", "i": "a/reciprocal"} // one for each constant
	g, inner := &graph_go_proto.GraphDef{Node: append([]*node_def_go_proto.NodeDef{}, nodes...)}, &graph_go_proto.GraphDef{Node: append([]*node_def_go_proto.NodeDef{}, nodes...)}
	multiply(g, []*inline.Callee{{Graph: inner}}, []string{"given"})
	for _, g := range []*graph_go_proto.GraphDef{g, inner} {
		named := map[string]*node_def_go_proto.NodeDef{}
		for _, n := range g.Node {
			named[n.Name] = n
		}
		for _, n := range nodes {
			by, ok := want[n.Name]
			switch now := named[n.Name]; {
			case !ok && now != n:
				t.Errorf("%s was changed", n.Name)
			case ok && (now.Op != "Mul" || now.Input[1] != factor[n.Name] || n.Op == "Mul"):
				t.Errorf("%s: got %v of %v", n.Name, now.Op, now.Input)
			case ok:
				v, err := graphdef.FromTensorProto(named[now.Input[1]].Attr["value"].GetTensor())
				if err != nil || math.Float32bits(tensor.Values[float32](v)[0]) != math.Float32bits(by) {
					t.Errorf("%s: got %v, %v, expected %v", n.Name, v, err, by)
				}
			}
		}
	}
	if got := nodeNamed(g, "b").Input; len(got) != 3 || got[2] != "^a" {
		t.Errorf("b: got inputs %v, expected ^a behind the others", got)
	}
}

// TestOptimized: TensorFlow's models name its commit, our own exports do not.
func TestOptimized(t *testing.T) {
	for version, want := range map[string]bool{"": false, "v2.15.0-11-g63f5a65c7cd": true, "unknown": true} {
		mg := &savedmodel.MetaGraph{Proto: &pb.MetaGraphDef{MetaInfoDef: &pb.MetaGraphDef_MetaInfoDef{TensorflowVersion: "2.15.1", TensorflowGitVersion: version}}}
		if optimized(mg) != want {
			t.Errorf("commit %q: expected %v", version, want)
		}
	}
}

func nodeNamed(g *graph_go_proto.GraphDef, name string) *node_def_go_proto.NodeDef {
	for _, n := range g.Node {
		if n.Name == name {
			return n
		}
	}
	return nil
}
