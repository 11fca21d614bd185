package inline

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// fill adds attributes that were left out because they have the default value: element types, which determine the outputs,
// and booleans that are true.
func fill(n *nodeDef) *nodeDef {
	op := ops.Find(n.GetOp())
	if op == nil {
		return n
	}
	c := n
	for _, a := range op.Attrs() {
		v := defaultValue(op, a)
		if v == nil || n.GetAttr()[a.Name] != nil {
			continue
		}
		if c == n {
			c = clone(n)
		}
		if c.Attr == nil {
			c.Attr = map[string]*attrValue{}
		}
		c.Attr[a.Name] = v
	}
	return c
}

// defaultValue returns the default of an attribute, or nil if it is not needed.
func defaultValue(op *ops.Def, a ops.Attr) *attrValue {
	if a.Kind == "bool" && a.Default == "true" {
		return &attrValue{Value: &attr_value_go_proto.AttrValue_B{B: true}}
	}
	d := op.DefaultType(a.Name)
	states := func(out ops.Arg) bool { return out.TypeAttr == a.Name }
	if d == tensor.Invalid || !slices.ContainsFunc(op.Outputs(), states) {
		return nil
	}
	return &attrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: types_go_proto.DataType(d)}}
}
