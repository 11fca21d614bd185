package wire

import (
	"io"
	"unicode/utf8"
	"unsafe"

	"github.com/goestimator/goestimator/internal/platform/protocost"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The fields of a TensorProto that are read and written without copies.
const (
	contentField = 4
	floatField   = 5
	doubleField  = 6
)

// reader reads fields; every method reports whether the data was as expected.
type reader struct{ protocost.Reader }

// append reads n bytes, which must exist, to the end of b.
func (r reader) append(b []byte, n int) ([]byte, bool) {
	at := len(b)
	b = append(b, make([]byte, n)...)
	_, err := io.ReadFull(r, b[at:])
	return b, err == nil
}

// field appends a field, whose tag has been read, to b.
func (r reader) field(b []byte, num protowire.Number, typ protowire.Type) ([]byte, bool) {
	b = protowire.AppendTag(b, num, typ)
	switch typ {
	case protowire.VarintType:
		v, ok := r.Varint()
		return protowire.AppendVarint(b, v), ok
	case protowire.Fixed32Type:
		return r.append(b, 4)
	case protowire.Fixed64Type:
		return r.append(b, 8)
	case protowire.BytesType:
		n, ok := r.Length()
		if !ok {
			return b, false
		}
		return r.append(protowire.AppendVarint(b, uint64(n)), n)
	}
	return b, false // no groups: these messages have none
}

// unmarshalTensors reads a message with tensors in a field; it returns false if the ordinary codec must read it.
func unmarshalTensors(data mem.BufferSlice, v proto.Message, m *map[string]*tensor_go_proto.TensorProto, field protowire.Number) bool {
	r := reader{protocost.Reader{Reader: data.Reader()}}
	defer func() { _ = r.Close() }()
	var rest []byte
	tensors := map[string]*tensor_go_proto.TensorProto{}
	for r.Remaining() > 0 {
		num, typ, ok := r.Tag()
		switch {
		case !ok:
			return false
		case num == field && typ == protowire.BytesType:
			ok = r.entry(tensors)
		default:
			rest, ok = r.field(rest, num, typ)
		}
		if !ok {
			return false
		}
	}
	if proto.Unmarshal(rest, v) != nil {
		return false
	}
	*m = tensors
	return true
}

// entry reads an entry of the map of tensors.
func (r reader) entry(tensors map[string]*tensor_go_proto.TensorProto) bool {
	n, ok := r.Length()
	end := r.Remaining() - n
	var key []byte
	var p *tensor_go_proto.TensorProto
	for ok && r.Remaining() > end {
		num, typ, valid := r.Tag()
		if !valid || typ != protowire.BytesType {
			return false
		}
		n, ok = r.Length()
		switch {
		case !ok || n > r.Remaining()-end:
			return false
		case num == 1:
			key, ok = r.append(nil, n)
		case num == 2 && p == nil:
			p, ok = r.tensor(n)
		default:
			return false
		}
	}
	if !ok || r.Remaining() != end || !utf8.Valid(key) {
		return false
	}
	if p == nil {
		p = &tensor_go_proto.TensorProto{}
	}
	tensors[string(key)] = p
	return true
}

// tensor reads a tensor of n bytes.
func (r reader) tensor(n int) (*tensor_go_proto.TensorProto, bool) {
	end := r.Remaining() - n
	p := &tensor_go_proto.TensorProto{}
	var rest []byte
	for r.Remaining() > end {
		num, typ, ok := r.Tag()
		switch {
		case !ok || (num == floatField || num == doubleField) && typ != protowire.BytesType:
			return nil, false
		case num == contentField && typ == protowire.BytesType:
			p.TensorContent, ok = r.content(end)
		case num == floatField:
			ok = packed(r, end, &p.FloatVal)
		case num == doubleField:
			ok = packed(r, end, &p.DoubleVal)
		default:
			rest, ok = r.field(rest, num, typ)
		}
		if !ok {
			return nil, false
		}
	}
	return p, r.Remaining() == end && proto.UnmarshalOptions{Merge: true}.Unmarshal(rest, p) == nil
}

// content reads bytes into memory that is aligned for elements of any type.
func (r reader) content(end int) ([]byte, bool) {
	n, ok := r.Length()
	if !ok || n > r.Remaining()-end {
		return nil, false
	}
	b := tensor.New(tensor.Uint8, n).Bytes
	_, err := io.ReadFull(r, b)
	return b, err == nil
}

// packed reads packed values to the end of v.
func packed[T float32 | float64](r reader, end int, v *[]T) bool {
	var z T
	size := int(unsafe.Sizeof(z))
	n, ok := r.Length()
	if !ok || n > r.Remaining()-end || n%size != 0 {
		return false
	}
	at := len(*v)
	if at == 0 {
		*v = make([]T, n/size)
	} else {
		*v = append(*v, make([]T, n/size)...)
	}
	_, err := io.ReadFull(r, bytesOf((*v)[at:]))
	return err == nil
}

func bytesOf[T float32 | float64](v []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(z)))
}
