package codec

import (
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// fields are the tensors of a message: one of the pointers is set.
type fields struct {
	message  proto.Message
	number   protowire.Number // of the field
	one      **tensor_go_proto.TensorProto
	repeated *[]*tensor_go_proto.TensorProto
	named    *[]*for_core_protos_go_proto.NamedTensorProto
}

// tensorsOf returns the tensors of a message that has some.
func tensorsOf(v any) (fields, bool) {
	switch m := v.(type) {
	case *rpcs.RecvTensorResponse:
		return fields{message: m, number: 1, one: &m.Tensor}, true
	case *rpcs.RunStepRequest:
		return fields{message: m, number: 2, named: &m.Feed}, true
	case *rpcs.RunStepResponse:
		return fields{message: m, number: 1, named: &m.Tensor}, true
	case *rpcs.RunGraphRequest:
		return fields{message: m, number: 3, named: &m.Send}, true
	case *rpcs.RunGraphResponse:
		return fields{message: m, number: 1, named: &m.Recv}, true
	case *rpcs.RunCallableRequest:
		return fields{message: m, number: 3, repeated: &m.Feed}, true
	case *rpcs.RunCallableResponse:
		return fields{message: m, number: 1, repeated: &m.Fetch}, true
	}
	return fields{}, false
}

// large reports whether any of the tensors is too large to be copied.
func (f fields) large() bool {
	switch {
	case f.one != nil:
		return len((*f.one).GetTensorContent()) >= large
	case f.repeated != nil:
		for _, t := range *f.repeated {
			if len(t.GetTensorContent()) >= large {
				return true
			}
		}
	default:
		for _, t := range *f.named {
			if len(t.GetTensor().GetTensorContent()) >= large {
				return true
			}
		}
	}
	return false
}
