package session

import (
	"strings"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// optimized reports whether TensorFlow wrote a model: its optimizer of graphs then changes it when it serves it. Our own exports and ONNX
// models, which name no commit of TensorFlow, are computed as they are written.
func optimized(mg *savedmodel.MetaGraph) bool {
	return mg.Proto.GetMetaInfoDef().GetTensorflowGitVersion() != ""
}

// multiply makes products with reciprocals of quotients by constants, in a graph and the functions that it calls. TensorFlow's
// optimizer of graphs does so too, and what is rounded down later depends on it: tf.image.resize_with_pad makes a picture of 11
// columns of 14 that are to be 12.
func multiply(flat *graph_go_proto.GraphDef, callees []*inline.Callee) {
	multiplyIn(flat)
	for _, c := range callees {
		multiplyIn(c.Graph)
	}
}

func multiplyIn(g *graph_go_proto.GraphDef) {
	named := make(map[string]*node_def_go_proto.NodeDef, len(g.GetNode()))
	for _, n := range g.GetNode() {
		named[n.GetName()] = n
	}
	for i, n := range g.GetNode() {
		if op := n.GetOp(); op != "RealDiv" && op != "Div" || len(n.GetInput()) < 2 {
			continue
		}
		name := n.GetName() + "/reciprocal"
		by := reciprocal(constant(named, n.GetInput()[1], n.GetAttr()["T"].GetType()))
		if by == nil || named[name] != nil {
			continue
		}
		value, err := graphdef.ToTensorProto(by, true)
		if err != nil {
			continue // the quotient does as well
		}
		factor := &node_def_go_proto.NodeDef{Name: name, Op: "Const", Device: n.GetDevice(), Attr: map[string]*attr_value_go_proto.AttrValue{
			"dtype": n.GetAttr()["T"], "value": {Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: value}}}}
		product := proto.CloneOf(n) // the model's node stays as it is
		product.Op, product.Input[1] = "Mul", name
		g.Node[i] = product
		g.Node = append(g.Node, factor)
		named[name] = factor
	}
}

// constant returns the tensor that an input always is, as a type: a Const, or a cast of one. It is nil for all else.
func constant(named map[string]*node_def_go_proto.NodeDef, input string, as types_go_proto.DataType) *tensor.Tensor {
	for range 4 { // few casts follow each other
		n := named[strings.TrimSuffix(input, ":0")]
		switch n.GetOp() {
		case "Const":
			t, err := graphdef.FromTensorProto(n.GetAttr()["value"].GetTensor())
			if err != nil {
				return nil
			}
			return floatsOf(t, as)
		case "Cast", "Identity":
			if len(n.GetInput()) == 0 {
				return nil
			}
			input = n.GetInput()[0]
		default:
			return nil
		}
	}
	return nil
}

// floatsOf is t as float32 or float64, nil where that could be another number.
func floatsOf(t *tensor.Tensor, as types_go_proto.DataType) *tensor.Tensor {
	switch {
	case as == types_go_proto.DataType_DT_FLOAT && t.DType == tensor.Float32, as == types_go_proto.DataType_DT_DOUBLE && t.DType == tensor.Float64:
		return t
	case t.DType != tensor.Int32 || t.Len() != 1: // sizes, as a rule
		return nil
	case as == types_go_proto.DataType_DT_FLOAT:
		return filled(t.Shape, float32(tensor.Values[int32](t)[0]))
	case as == types_go_proto.DataType_DT_DOUBLE:
		return filled(t.Shape, float64(tensor.Values[int32](t)[0]))
	}
	return nil
}

// filled is a tensor of one element.
func filled[T tensor.Element](shape []int, v T) *tensor.Tensor {
	t := tensor.Scalar(v)
	t.Shape = shape
	return t
}

// reciprocal is 1/t, nil of nil.
func reciprocal(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	r := tensor.New(t.DType, t.Shape...)
	if t.DType == tensor.Float32 {
		invert(tensor.Values[float32](r), tensor.Values[float32](t))
	} else {
		invert(tensor.Values[float64](r), tensor.Values[float64](t))
	}
	return r
}

func invert[T float32 | float64](dst, src []T) {
	for i, v := range src {
		dst[i] = 1 / v
	}
}
