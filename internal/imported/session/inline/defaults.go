package inline

import (
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// typeDefaults are the types that attributes have where a GraphDef leaves them out: exporters strip what is default. Only
// those are here that say what an op's outputs are.
var typeDefaults = map[string]map[string]types_go_proto.DataType{
	"Shape": {"out_type": types_go_proto.DataType_DT_INT32}, "ShapeN": {"out_type": types_go_proto.DataType_DT_INT32},
	"Size": {"out_type": types_go_proto.DataType_DT_INT32}, "VariableShape": {"out_type": types_go_proto.DataType_DT_INT32},
	"ArgMax": {"output_type": types_go_proto.DataType_DT_INT64}, "ArgMin": {"output_type": types_go_proto.DataType_DT_INT64},
	"Range": {"Tidx": types_go_proto.DataType_DT_INT32}, "StringToNumber": {"out_type": types_go_proto.DataType_DT_FLOAT},
	"Unique": {"out_idx": types_go_proto.DataType_DT_INT32}, "UniqueV2": {"out_idx": types_go_proto.DataType_DT_INT32},
	"UniqueWithCounts": {"out_idx": types_go_proto.DataType_DT_INT32}, "UniqueWithCountsV2": {"out_idx": types_go_proto.DataType_DT_INT32},
	"ListDiff": {"out_idx": types_go_proto.DataType_DT_INT32}, "MaxPoolWithArgmax": {"Targmax": types_go_proto.DataType_DT_INT64},
	"RaggedRange": {"Tsplits": types_go_proto.DataType_DT_INT64}, "Multinomial": {"output_dtype": types_go_proto.DataType_DT_INT64},
	"MaxPool": {"T": types_go_proto.DataType_DT_FLOAT}, "LeakyRelu": {"T": types_go_proto.DataType_DT_FLOAT}, "LRN": {"T": types_go_proto.DataType_DT_FLOAT},
	"StatelessRandomUniform": {"dtype": types_go_proto.DataType_DT_FLOAT},
	"Real":                   {"Tout": types_go_proto.DataType_DT_FLOAT}, "Imag": {"Tout": types_go_proto.DataType_DT_FLOAT},
}

// trueDefaults are attributes that are true where they are left out.
var trueDefaults = map[string]string{"FusedBatchNorm": "is_training", "FusedBatchNormV2": "is_training", "FusedBatchNormV3": "is_training"}

// fill adds attributes that were left out.
func fill(n *nodeDef) *nodeDef {
	types, yes := typeDefaults[n.GetOp()], trueDefaults[n.GetOp()]
	c := n
	set := func(name string, v *attrValue) {
		if c == n {
			c = clone(n)
		}
		if c.Attr == nil {
			c.Attr = map[string]*attrValue{}
		}
		c.Attr[name] = v
	}
	for name, d := range types {
		if n.GetAttr()[name] == nil {
			set(name, &attrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: d}})
		}
	}
	if yes != "" && n.GetAttr()[yes] == nil {
		set(yes, &attrValue{Value: &attr_value_go_proto.AttrValue_B{B: true}})
	}
	return c
}
