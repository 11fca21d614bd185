package wire

import (
	"unicode/utf8"

	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// marshalTensors writes a message with tensors in a field; it returns false if no tensor is large.
func marshalTensors(v proto.Message, all map[string]*tensor_go_proto.TensorProto, field protowire.Number) (mem.BufferSlice, bool) {
	if !anyLarge(all) {
		return nil, false
	}
	var out mem.BufferSlice
	few := make(map[string]*tensor_go_proto.TensorProto, len(all))
	for name, p := range all {
		num, payload := large(p)
		if num == 0 || !utf8.ValidString(name) {
			few[name] = p
			continue
		}
		head, err := proto.Marshal(without(p, num))
		if err != nil {
			return nil, false
		}
		head = protowire.AppendTag(head, num, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(len(payload)))
		size := len(head) + len(payload) // of the tensor
		b := protowire.AppendTag(nil, field, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(1+protowire.SizeBytes(len(name))+1+protowire.SizeBytes(size)))
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), name)
		b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.BytesType), uint64(size))
		out = append(out, mem.SliceBuffer(append(b, head...)), mem.SliceBuffer(payload))
	}
	rest := without(v, field)
	m, _ := tensorsOf(rest)
	*m = few
	b, err := proto.Marshal(rest)
	if err != nil {
		return nil, false
	}
	if len(b) > 0 {
		out = append(out, mem.SliceBuffer(b))
	}
	return out, true
}

func anyLarge(all map[string]*tensor_go_proto.TensorProto) bool {
	for _, p := range all {
		if num, _ := large(p); num != 0 {
			return true
		}
	}
	return false
}

// large returns the field of a tensor that is written without copies, and its bytes; 0 if there is none.
func large(p *tensor_go_proto.TensorProto) (protowire.Number, []byte) {
	switch {
	case len(p.GetTensorContent()) >= small:
		return contentField, p.GetTensorContent()
	case 4*len(p.GetFloatVal()) >= small:
		return floatField, bytesOf(p.GetFloatVal())
	case 8*len(p.GetDoubleVal()) >= small:
		return doubleField, bytesOf(p.GetDoubleVal())
	}
	return 0, nil
}

// without returns a message with all fields of v except one; it shares them.
func without(v proto.Message, num protowire.Number) proto.Message {
	from := v.ProtoReflect()
	to := from.New()
	from.Range(func(f protoreflect.FieldDescriptor, x protoreflect.Value) bool {
		if f.Number() != num {
			to.Set(f, x)
		}
		return true
	})
	to.SetUnknown(from.GetUnknown())
	return to.Interface()
}
