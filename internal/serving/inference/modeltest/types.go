package modeltest

import (
	"strings"

	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// tfName is TensorFlow's short name of a type: "float", "half".
func tfName(d tensor.DType) string {
	return strings.ToLower(strings.TrimPrefix(types_go_proto.DataType(d).String(), "DT_"))
}

// typeOf is the type of a short name.
func typeOf(name string) types_go_proto.DataType {
	return types_go_proto.DataType(types_go_proto.DataType_value["DT_"+strings.ToUpper(name)])
}
