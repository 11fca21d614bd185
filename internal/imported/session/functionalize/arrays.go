package functionalize

import (
	"fmt"
	"strings"

	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

const variant = types_go_proto.DataType_DT_VARIANT

// arrays replaces the arrays of tensors that TensorFlow 1's tf.map_fn and dynamic_rnn keep by lists. Where ops on an array pass
// on its flow, a number that orders them, ops on a list pass on the list itself.
func (c *converter) arrays(s *scope) error {
	var ops, all []string // arrays before the ops on them
	grows := dynamic{}
	for _, name := range s.names {
		switch op := s.nodes[name].GetOp(); {
		case op == "TensorArrayV3":
			all, grows[name] = append(all, name), s.nodes[name].GetAttr()["dynamic_size"].GetB()
		case isArray(op):
			ops = append(ops, name)
		}
	}
	lists := map[string]bool{}
	for _, name := range append(all, ops...) {
		n := s.nodes[name]
		made, err := list(s, n, grows)
		if err != nil {
			return fmt.Errorf("node %q (%s): %w", name, n.GetOp(), err)
		}
		s.add(made)
		switch made.GetOp() {
		case "TensorListReserve", "TensorListSetItem", "TensorListScatterV2", "TensorListSplit":
			lists[name] = true
		}
	}
	return c.retype(s, lists)
}

func isArray(op string) bool {
	return strings.HasPrefix(op, "TensorArray") && strings.HasSuffix(op, "V3")
}

// list returns the node on lists that does what node n does on an array.
func list(s *scope, n *nodeDef, grows dynamic) (*nodeDef, error) {
	in := data(n)
	want := map[string]int{"TensorArrayV3": 1, "TensorArrayReadV3": 3, "TensorArrayWriteV3": 4, "TensorArrayScatterV3": 4, "TensorArrayGatherV3": 3, "TensorArraySizeV3": 2,
		"TensorArrayConcatV3": 2, "TensorArraySplitV3": 4}[n.GetOp()]
	if want == 0 {
		return nil, fmt.Errorf("this op on arrays of tensors of TensorFlow 1 is not supported")
	}
	if len(in) != want {
		return nil, fmt.Errorf("expected %d inputs, got %d", want, len(in))
	}
	out := func(op string, t dataType, inputs ...string) *nodeDef {
		return &nodeDef{Name: n.GetName(), Op: op, Input: append(inputs, controls(n)...), Attr: map[string]*attrValue{"element_dtype": typeOf(t), "shape_type": typeOf(types_go_proto.DataType_DT_INT32)}}
	}
	kind := n.GetAttr()["dtype"].GetType()
	switch n.GetOp() {
	case "TensorArrayV3":
		return out("TensorListReserve", kind, s.shape(n, "element_shape"), in[0].String()), nil
	case "TensorArrayReadV3":
		return out("TensorListGetItem", kind, in[2].String(), in[1].String(), s.shape(n, "element_shape")), nil
	case "TensorArrayGatherV3":
		return out("TensorListGather", kind, in[2].String(), in[1].String(), s.shape(n, "element_shape")), nil
	case "TensorArrayWriteV3":
		made := out("TensorListSetItem", dtype(n), in[3].String(), in[1].String(), in[2].String())
		made.Attr["resize_if_index_out_of_bounds"] = &attrValue{Value: &attr_value_go_proto.AttrValue_B{B: grows.of(s, in[0].node)}}
		return made, nil
	case "TensorArrayConcatV3":
		return out("TensorListConcatV2", kind, in[1].String(), s.shape(n, "element_shape_except0", -1), s.noSizes(n)), nil
	case "TensorArraySplitV3":
		return out("TensorListSplit", dtype(n), in[1].String(), s.shape(n, "element_shape"), in[2].String()), nil
	case "TensorArrayScatterV3":
		array := s.nodes[in[3].node]
		if array.GetOp() != "TensorListReserve" || len(data(array)) != 2 {
			return nil, fmt.Errorf("the array has elements already: that is not supported")
		}
		return out("TensorListScatterV2", dtype(n), in[2].String(), in[1].String(), s.shape(n, "element_shape"), data(array)[1].String()), nil
	}
	return out("TensorListLength", kind, in[1].String()), nil
}

// dynamic says, for each node that passes a handle on, whether its array grows beyond its end (dynamic_size).
type dynamic map[string]bool

func (d dynamic) of(s *scope, node string) bool {
	var path []string
	known := false
	for node != "" && !known {
		if _, known = d[node]; known {
			continue
		}
		d[node], path = false, append(path, node)
		in := data(s.nodes[node])
		if len(in) == 0 {
			return false
		}
		node = in[0].node
	}
	for _, p := range path {
		d[p] = d[node]
	}
	return d[node]
}

// shape adds a constant with the leading sizes and the sizes that an attribute states, and returns its name. An unknown rank is -1.
func (s *scope) shape(n *nodeDef, attr string, leading ...int32) string {
	t := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_INT32, TensorShape: &tensor_shape_go_proto.TensorShapeProto{}, IntVal: []int32{-1}}
	if shape := n.GetAttr()[attr].GetShape(); shape != nil && !shape.GetUnknownRank() {
		t.TensorShape.Dim = []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: int64(len(leading) + len(shape.GetDim()))}}
		t.IntVal = leading
		for _, d := range shape.GetDim() {
			t.IntVal = append(t.IntVal, int32(d.GetSize()))
		}
	}
	return s.constant(n.GetName()+"/element_shape", t)
}

// constant adds a constant, and returns its name.
func (s *scope) constant(name string, t *tensor_go_proto.TensorProto) string {
	c := &nodeDef{Name: s.free(name), Op: "Const", Attr: map[string]*attrValue{"dtype": typeOf(t.Dtype), "value": {Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: t}}}}
	s.add(c)
	return c.Name
}

// noSizes adds an empty vector of sizes, and returns its name.
func (s *scope) noSizes(n *nodeDef) string {
	empty := &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{}}}
	return s.constant(n.GetName()+"/leading_dims", &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_INT64, TensorShape: empty})
}

// retype sets the type of nodes that pass lists on, and makes readers of an array's flow, its second output, read the list.
func (c *converter) retype(s *scope, lists map[string]bool) error {
	users := map[string][]string{}
	var next []string
	for _, name := range s.names {
		for _, in := range data(s.nodes[name]) {
			if u := users[in.node]; len(u) == 0 || u[len(u)-1] != name {
				users[in.node] = append(u, name)
			}
		}
		if lists[name] {
			next = append(next, name)
		}
	}
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		for _, user := range users[name] {
			n := s.nodes[user]
			if c.visits += len(n.GetInput()); c.visits > maxVisits {
				return errVisits
			}
			inputs := n.GetInput()
			if s.nodes[name].GetOp() == "TensorListReserve" {
				inputs = flowless(inputs, name)
			}
			passes := n.GetOp() == "Identity" || flowOps[n.GetOp()] && n.GetOp() != "LoopCond"
			changed := like(n, n.GetOp(), inputs)
			if passes {
				changed.Attr["T"] = typeOf(variant)
			}
			s.add(changed)
			if passes && !lists[user] {
				lists[user] = true
				next = append(next, user)
			}
		}
	}
	return nil
}

// flowless returns inputs in which both outputs of an array are replaced by the only output of a list.
func flowless(inputs []string, array string) []string {
	out := make([]string, len(inputs))
	for i, in := range inputs {
		if src := parse(in); src.node == array && src.output > 0 {
			in = array
		}
		out[i] = in
	}
	return out
}
