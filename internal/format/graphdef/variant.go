package graphdef

import (
	"encoding/binary"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// Between tasks, a tensor of variants has one element of Strings per variant: its encoded VariantTensorDataProto.

// ToVariantProto converts a tensor of variants like TensorFlow's servers: its content is the sizes of all messages, then the messages.
func ToVariantProto(t *tensor.Tensor) *tensor_go_proto.TensorProto {
	p := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_VARIANT, TensorShape: protoShape(t.Shape)}
	for _, s := range t.Strings {
		p.TensorContent = binary.AppendUvarint(p.TensorContent, uint64(len(s)))
	}
	for _, s := range t.Strings {
		p.TensorContent = append(p.TensorContent, s...)
	}
	return p
}

// ViewVariantProto reads a tensor of variants, from content or messages. The result may share p's memory. The account pays for copies.
func ViewVariantProto(p *tensor_go_proto.TensorProto, a *budget.Account) (*tensor.Tensor, error) {
	shape, err := wireShape(p.GetTensorShape())
	if err != nil {
		return nil, err
	}
	most := len(p.GetTensorContent()) + len(p.GetVariantVal()) // each element takes a byte or a message
	n, ok := elements(shape, most)
	if !ok {
		return nil, fmt.Errorf("tensor of variants of shape %v: more than the %d that there are", shape, most)
	}
	t := &tensor.Tensor{DType: tensor.Variant, Shape: shape}
	if len(p.GetTensorContent()) > 0 || n == 0 {
		t.Strings, err = view{p: p, n: n, account: a}.stringContent()
		return t, err
	}
	if len(p.GetVariantVal()) != n {
		return nil, fmt.Errorf("tensor of variants of shape %v with %d values", shape, len(p.GetVariantVal()))
	}
	if err := a.Reserve(proto.Size(p)); err != nil {
		return nil, err
	}
	for _, v := range p.GetVariantVal() {
		b, err := proto.Marshal(v)
		if err != nil {
			return nil, err
		}
		t.Strings = append(t.Strings, b)
	}
	return t, nil
}

// ToShapeProto converts a shape with -1 for dimensions of any size; nil is any rank.
func ToShapeProto(shape []int) *tensor_shape_go_proto.TensorShapeProto {
	if shape == nil {
		return &tensor_shape_go_proto.TensorShapeProto{UnknownRank: true}
	}
	return protoShape(shape)
}
