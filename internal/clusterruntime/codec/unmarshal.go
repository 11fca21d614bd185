package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// errMalformed reports that bytes are not a valid message.
var errMalformed = errors.New("malformed message")

// source is a message, or a part of one, that is being read.
type source struct {
	data  *mem.Reader
	left  int            // bytes
	owned map[int][]byte // buffers that a tensor may keep, by the number of bytes from their beginning to the end of the message
}

// Owned is a buffer of a received message that a tensor may keep: nothing else uses its memory.
type Owned struct{ mem.SliceBuffer }

// ownedBy returns the buffers of a message that tensors may keep.
func ownedBy(data mem.BufferSlice) map[int][]byte {
	var all map[int][]byte
	left := data.Len()
	for _, b := range data {
		if o, ok := b.(Owned); ok && o.Len() >= large {
			if all == nil {
				all = map[int][]byte{}
			}
			all[left] = o.ReadOnlyData()
		}
		left -= b.Len()
	}
	return all
}

// unmarshal reads a message.
func (f fields) unmarshal(data mem.BufferSlice) error {
	proto.Reset(f.message)
	s := &source{data.Reader(), data.Len(), ownedBy(data)}
	defer s.data.Close()
	var found []*tensor_go_proto.TensorProto
	var named []*for_core_protos_go_proto.NamedTensorProto
	rest, err := s.without(f.number, func(part *source) error {
		if f.named != nil {
			t, err := part.named()
			named = append(named, t)
			return err
		}
		t, err := part.tensor()
		found = append(found, t)
		return err
	})
	if err == nil {
		err = proto.Unmarshal(rest, f.message)
	}
	if err != nil {
		return fmt.Errorf("%T: %w", f.message, err)
	}
	switch {
	case f.one != nil && len(found) > 1:
		return fmt.Errorf("%T: %w: it has %d tensors", f.message, errMalformed, len(found))
	case f.one != nil && len(found) == 1:
		*f.one = found[0]
	case f.repeated != nil:
		*f.repeated = found
	case f.named != nil:
		*f.named = named
	}
	return nil
}

// named reads a NamedTensorProto.
func (s *source) named() (*for_core_protos_go_proto.NamedTensorProto, error) {
	t := &for_core_protos_go_proto.NamedTensorProto{}
	var value *tensor_go_proto.TensorProto
	rest, err := s.without(tensor, func(part *source) (err error) {
		if value != nil {
			return fmt.Errorf("%w: a name with two tensors", errMalformed)
		}
		value, err = part.tensor()
		return err
	})
	if err == nil {
		err = proto.Unmarshal(rest, t)
	}
	t.Tensor = value
	return t, err
}

// tensor reads a TensorProto.
func (s *source) tensor() (*tensor_go_proto.TensorProto, error) {
	t := &tensor_go_proto.TensorProto{}
	var raw []byte
	rest, err := s.without(content, func(part *source) (err error) {
		raw, err = part.bytes()
		return err
	})
	if err == nil {
		err = proto.Unmarshal(rest, t)
	}
	t.TensorContent = raw
	return t, err
}

// without reads all fields. It calls found for each field with that number, and returns the others in encoded form.
func (s *source) without(number protowire.Number, found func(*source) error) (rest []byte, err error) {
	for s.left > 0 {
		tag, err := s.varint()
		if err != nil {
			return nil, err
		}
		n, typ := protowire.DecodeTag(tag)
		size := uint64(0)
		rest = protowire.AppendVarint(rest, tag)
		switch typ {
		case protowire.VarintType:
			v, err := s.varint()
			if err != nil {
				return nil, err
			}
			rest = protowire.AppendVarint(rest, v)
		case protowire.Fixed32Type:
			size = 4
		case protowire.Fixed64Type:
			size = 8
		case protowire.BytesType:
			if size, err = s.varint(); err != nil {
				return nil, err
			}
			if n == number {
				rest = rest[:len(rest)-protowire.SizeVarint(tag)]
				if err := s.part(size, found); err != nil {
					return nil, err
				}
				continue
			}
			rest = protowire.AppendVarint(rest, size)
		default:
			return nil, fmt.Errorf("%w: field %d is of wire type %d", errMalformed, n, typ)
		}
		if rest, err = s.copy(rest, size); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// part calls found for the next size bytes.
func (s *source) part(size uint64, found func(*source) error) error {
	if size > uint64(s.left) {
		return io.ErrUnexpectedEOF
	}
	s.left -= int(size)
	return found(&source{s.data, int(size), s.owned})
}

// copy appends the next size bytes.
func (s *source) copy(to []byte, size uint64) ([]byte, error) {
	if size > uint64(s.left) {
		return nil, io.ErrUnexpectedEOF
	}
	s.left -= int(size)
	at := len(to)
	to = append(to, make([]byte, size)...)
	_, err := io.ReadFull(s.data, to[at:])
	return to, err
}

// bytes returns the remaining bytes in memory that is aligned for a tensor: a whole buffer that nothing else uses, or new memory.
func (s *source) bytes() ([]byte, error) {
	if s.left == 0 {
		return nil, nil
	}
	if b := s.owned[s.data.Remaining()]; len(b) == s.left {
		s.left = 0
		_, err := s.data.Discard(len(b))
		return b, err
	}
	b := Memory(s.left)
	s.left = 0
	_, err := io.ReadFull(s.data, b)
	return b, err
}

// Memory returns n bytes for a tensor, allocated as by strings.Builder, which does not clear them first.
func Memory(n int) []byte {
	var b strings.Builder
	b.Grow(max(n, 8))
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// varint reads a number.
func (s *source) varint() (uint64, error) {
	before := s.data.Remaining()
	v, err := binary.ReadUvarint(s.data)
	s.left -= before - s.data.Remaining()
	if err != nil || s.left < 0 {
		return 0, errMalformed
	}
	return v, nil
}
