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

// arrays makes lists of the arrays of tensors that tf.map_fn and dynamic_rnn of TensorFlow 1 keep: where these have a
// number, the flow, pass from op to op so that they run in their order, there is the list itself.
func (c *converter) arrays(s *scope) error {
	var ops, all []string // arrays before what is done with them
	for _, name := range s.names {
		switch op := s.nodes[name].GetOp(); {
		case op == "TensorArrayV3":
			all = append(all, name)
		case isArray(op):
			ops = append(ops, name)
		}
	}
	lists := map[string]bool{}
	for _, name := range append(all, ops...) {
		n := s.nodes[name]
		made, err := list(s, n)
		if err != nil {
			return fmt.Errorf("node %q (%s): %w", name, n.GetOp(), err)
		}
		s.add(made)
		switch made.GetOp() {
		case "TensorListReserve", "TensorListSetItem", "TensorListScatterV2":
			lists[name] = true
		}
	}
	return c.retype(s, lists)
}

func isArray(op string) bool {
	return strings.HasPrefix(op, "TensorArray") && strings.HasSuffix(op, "V3")
}

// list is the node of lists that does what one of an array does.
func list(s *scope, n *nodeDef) (*nodeDef, error) {
	in := data(n)
	want := map[string]int{"TensorArrayV3": 1, "TensorArrayReadV3": 3, "TensorArrayWriteV3": 4, "TensorArrayScatterV3": 4, "TensorArrayGatherV3": 3, "TensorArraySizeV3": 2}[n.GetOp()]
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
		return out("TensorListReserve", kind, s.elementShape(n), in[0].String()), nil
	case "TensorArrayReadV3":
		return out("TensorListGetItem", kind, in[2].String(), in[1].String(), s.elementShape(n)), nil
	case "TensorArrayGatherV3":
		return out("TensorListGather", kind, in[2].String(), in[1].String(), s.elementShape(n)), nil
	case "TensorArrayWriteV3":
		return out("TensorListSetItem", dtype(n), in[3].String(), in[1].String(), in[2].String()), nil
	case "TensorArrayScatterV3":
		array := s.nodes[in[3].node]
		if array.GetOp() != "TensorListReserve" || len(data(array)) != 2 {
			return nil, fmt.Errorf("the array has elements already: that is not supported")
		}
		return out("TensorListScatterV2", dtype(n), in[2].String(), in[1].String(), s.elementShape(n), data(array)[1].String()), nil
	}
	return out("TensorListLength", kind, in[1].String()), nil
}

// elementShape adds a constant of the shape of an array's elements, and returns its name.
func (s *scope) elementShape(n *nodeDef) string {
	t := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_INT32, TensorShape: &tensor_shape_go_proto.TensorShapeProto{}, IntVal: []int32{-1}}
	if shape := n.GetAttr()["element_shape"].GetShape(); shape != nil && !shape.GetUnknownRank() {
		t.TensorShape.Dim = []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: int64(len(shape.GetDim()))}}
		t.IntVal = make([]int32, 0, len(shape.GetDim()))
		for _, d := range shape.GetDim() {
			t.IntVal = append(t.IntVal, int32(d.GetSize()))
		}
	}
	c := &nodeDef{Name: s.free(n.GetName() + "/element_shape"), Op: "Const", Attr: map[string]*attrValue{"dtype": typeOf(t.Dtype),
		"value": {Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: t}}}}
	s.add(c)
	return c.Name
}

// retype gives the nodes that pass lists on the type of lists, and reads of a flow, an array's second output, the list.
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

// flowless are inputs in which the only output of a list stands for both of an array.
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
