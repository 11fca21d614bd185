package codec

import (
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// content is the number of TensorProto's field of raw elements; tensor is the number of NamedTensorProto's tensor.
const (
	content protowire.Number = 4
	tensor  protowire.Number = 2
)

// message is an encoded message: full buffers, and the one that is being written.
type message struct {
	full mem.BufferSlice
	last []byte
}

// refer adds bytes without copying them.
func (m *message) refer(b []byte) {
	m.full = append(m.full, mem.SliceBuffer(m.last), mem.SliceBuffer(b))
	m.last = nil
}

// marshal encodes the message: first everything else, then the tensors. Their order in the message does not matter.
func (f fields) marshal() (mem.BufferSlice, error) {
	m := &message{}
	if err := f.rest(m); err != nil {
		return nil, err
	}
	switch {
	case f.one != nil:
		if err := m.tensor(f.number, *f.one); err != nil {
			return nil, err
		}
	case f.repeated != nil:
		for _, t := range *f.repeated {
			if err := m.tensor(f.number, t); err != nil {
				return nil, err
			}
		}
	default:
		for _, t := range *f.named {
			if err := m.named(f.number, t); err != nil {
				return nil, err
			}
		}
	}
	return append(m.full, mem.SliceBuffer(m.last)), nil
}

// rest encodes everything except the tensors.
func (f fields) rest(m *message) (err error) {
	switch {
	case f.one != nil:
		saved := *f.one
		*f.one = nil
		defer func() { *f.one = saved }()
	case f.repeated != nil:
		saved := *f.repeated
		*f.repeated = nil
		defer func() { *f.repeated = saved }()
	default:
		saved := *f.named
		*f.named = nil
		defer func() { *f.named = saved }()
	}
	m.last, err = proto.Marshal(f.message)
	return err
}

// named encodes a NamedTensorProto.
func (m *message) named(number protowire.Number, t *for_core_protos_go_proto.NamedTensorProto) error {
	h, err := headOf(t.GetTensor())
	if err != nil {
		return err
	}
	name, err := proto.Marshal(&for_core_protos_go_proto.NamedTensorProto{Name: t.GetName()})
	if err != nil {
		return err
	}
	size := h.size()
	m.last = protowire.AppendTag(m.last, number, protowire.BytesType)
	m.last = protowire.AppendVarint(m.last, uint64(len(name)+protowire.SizeTag(tensor)+protowire.SizeBytes(size)))
	m.last = append(m.last, name...)
	m.append(tensor, h)
	return nil
}

// tensor encodes a TensorProto.
func (m *message) tensor(number protowire.Number, t *tensor_go_proto.TensorProto) error {
	h, err := headOf(t)
	if err == nil {
		m.append(number, h)
	}
	return err
}

// head is a TensorProto with separate content.
type head struct {
	rest    []byte
	content []byte
}

// headOf encodes a TensorProto, without its content if that is large. Such a tensor has no other values.
func headOf(t *tensor_go_proto.TensorProto) (h head, err error) {
	if len(t.GetTensorContent()) < large {
		h.rest, err = proto.Marshal(t)
		return h, err
	}
	h.content = t.GetTensorContent()
	h.rest, err = proto.Marshal(&tensor_go_proto.TensorProto{Dtype: t.GetDtype(), TensorShape: t.GetTensorShape(), VersionNumber: t.GetVersionNumber()})
	return h, err
}

// size is the encoded size of the tensor in bytes.
func (h head) size() int {
	if h.content == nil {
		return len(h.rest)
	}
	return len(h.rest) + protowire.SizeTag(content) + protowire.SizeBytes(len(h.content))
}

func (m *message) append(number protowire.Number, h head) {
	m.last = protowire.AppendTag(m.last, number, protowire.BytesType)
	m.last = protowire.AppendVarint(m.last, uint64(h.size()))
	m.last = append(m.last, h.rest...)
	if h.content != nil {
		m.last = protowire.AppendTag(m.last, content, protowire.BytesType)
		m.last = protowire.AppendVarint(m.last, uint64(len(h.content)))
		m.refer(h.content)
	}
}
