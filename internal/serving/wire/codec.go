package wire

import (
	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/encoding"
	ordinary "google.golang.org/grpc/encoding/proto" // registers the ordinary codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// small is the size in bytes below which messages and tensors are not treated specially.
const small = 64 << 10

// Codec implements encoding.CodecV2; it is for grpc.ForceServerCodecV2 and grpc.ForceCodecV2.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Name implements encoding.CodecV2.
func (Codec) Name() string { return ordinary.Name }

// Marshal implements encoding.CodecV2. The result shares the memory of large tensors.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if o, ok := v.(*admission.Outgoing); ok {
		return o.Data, nil
	}
	if m, field := tensorsOf(v); m != nil {
		if out, ok := marshalTensors(v.(proto.Message), *m, field); ok {
			return out, nil
		}
	}
	return encoding.GetCodecV2(ordinary.Name).Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, field := tensorsOf(v); m != nil && data.Len() >= small {
		if unmarshalTensors(data, v.(proto.Message), m, field) {
			return nil
		}
		proto.Reset(v.(proto.Message))
	}
	if in := inputOf(v); in != nil {
		if unmarshalExamples(data, v.(proto.Message), in) {
			return nil
		}
		proto.Reset(v.(proto.Message))
	}
	return encoding.GetCodecV2(ordinary.Name).Unmarshal(data, v)
}

// tensorsOf returns the tensors of a message, and the number of their field.
func tensorsOf(v any) (*map[string]*tensor_go_proto.TensorProto, protowire.Number) {
	switch m := v.(type) {
	case *apis.PredictRequest:
		return &m.Inputs, 2
	case *apis.PredictResponse:
		return &m.Outputs, 1
	}
	return nil, 0
}

// inputField is the number of the field with the examples in all messages of inputOf.
const inputField = 2

// inputOf returns the examples of a message.
func inputOf(v any) **apis.Input {
	switch m := v.(type) {
	case *apis.ClassificationRequest:
		return &m.Input
	case *apis.RegressionRequest:
		return &m.Input
	case *apis.MultiInferenceRequest:
		return &m.Input
	}
	return nil
}
