package session

import (
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// optimized reports whether TensorFlow wrote a model, so that its graph optimizer changes it for serving. Our own exports and ONNX
// models name no commit of TensorFlow, and are computed as written.
func optimized(mg *savedmodel.MetaGraph) bool {
	return mg.Proto.GetMetaInfoDef().GetTensorflowGitVersion() != ""
}

// maxReciprocals bounds the memory by which constants exceed their form in the model, while their reciprocals are made.
const maxReciprocals = 64 << 20

// reciprocals replaces divisions by constants by multiplications by their reciprocals.
type reciprocals struct {
	fed  []string // nodes whose values requests may give
	left int      // bytes left of maxReciprocals
}

// multiply changes a graph and the functions that it calls. TensorFlow's graph optimizer does the same, and later rounding down
// depends on it: tf.image.resize_with_pad returns 11 columns of 14 where 12 are expected. Reciprocals of zeros, infinities and tiny
// numbers are as in TensorFlow, so 0/0 is NaN.
func multiply(flat *graph_go_proto.GraphDef, callees []*inline.Callee, fed []string) {
	r := &reciprocals{fed: fed, left: maxReciprocals}
	r.of(flat)
	for _, c := range callees {
		r.of(c.Graph)
	}
}

func (r *reciprocals) of(g *graph_go_proto.GraphDef) {
	named := make(map[string]*node_def_go_proto.NodeDef, len(g.GetNode()))
	for _, n := range g.GetNode() {
		named[n.GetName()] = n
	}
	factors := map[string]string{} // by constant and type; "" for none
	for i, n := range g.GetNode() {
		if op := n.GetOp(); op != "RealDiv" && op != "Div" || len(n.GetInput()) < 2 {
			continue
		}
		typ := n.GetAttr()["T"].GetType()
		from := r.constant(named, n.GetInput()[1], typ)
		if from == nil {
			continue
		}
		key := from.GetName() + " " + typ.String()
		name, ok := factors[key]
		if !ok {
			if factor := r.factor(from, n, named); factor != nil {
				name = factor.GetName()
				g.Node, named[name] = append(g.Node, factor), factor
			}
			factors[key] = name
		}
		if name == "" {
			continue // the division stays
		}
		product := proto.CloneOf(n) // the model's own node is not changed
		product.Op, product.Input[1] = "Mul", name
		g.Node[i] = product
	}
}

// factor makes the node of a constant's reciprocal, which n is the first to need; nil if that is not possible.
func (r *reciprocals) factor(from, n *node_def_go_proto.NodeDef, named map[string]*node_def_go_proto.NodeDef) *node_def_go_proto.NodeDef {
	name, value := n.GetName()+"/reciprocal", from.GetAttr()["value"].GetTensor()
	if named[name] != nil || !r.holds(value) {
		return nil
	}
	t, err := graphdef.FromTensorProto(value)
	if err != nil {
		return nil
	}
	by := reciprocal(floatsOf(t, n.GetAttr()["T"].GetType()))
	if by == nil {
		return nil
	}
	p, err := graphdef.ToTensorProto(by, true)
	if err != nil {
		return nil
	}
	return &node_def_go_proto.NodeDef{Name: name, Op: "Const", Device: n.GetDevice(), Attr: map[string]*attr_value_go_proto.AttrValue{
		"dtype": n.GetAttr()["T"], "value": {Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: p}}}}
}

// holds reports whether there is room for a tensor, which the model may store as a single element.
func (r *reciprocals) holds(p *tensor_go_proto.TensorProto) bool {
	size := 8
	for _, d := range p.GetTensorShape().GetDim() {
		if d.GetSize() < 0 || d.GetSize() > 0 && int64(size) > math.MaxInt32/d.GetSize() {
			return false
		}
		size *= int(d.GetSize())
	}
	more := max(size-proto.Size(p), 0)
	if more > r.left {
		return false
	}
	r.left -= more
	return true
}

// constant returns the Const that an input always is or is cast from; nil for all other inputs.
func (r *reciprocals) constant(named map[string]*node_def_go_proto.NodeDef, input string, as types_go_proto.DataType) *node_def_go_proto.NodeDef {
	for range 4 { // casts are seldom chained
		n := named[strings.TrimSuffix(input, ":0")]
		if slices.Contains(r.fed, n.GetName()) {
			return nil
		}
		switch n.GetOp() {
		case "Const":
			return n
		case "Cast":
			if n.GetAttr()["DstT"].GetType() != as {
				return nil // the cast may change the number
			}
		case "Identity":
		default:
			return nil
		}
		if len(n.GetInput()) == 0 {
			return nil
		}
		input = n.GetInput()[0]
	}
	return nil
}

// floatsOf returns t as float32 or float64, or nil if the conversion could change a number.
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

// reciprocal returns 1/t, or nil if t is nil.
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
