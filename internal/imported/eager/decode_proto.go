package eager

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// protoOps read and write protocol buffer messages, such as TensorFlow Ranking's lists of examples.
var protoOps = map[*ops.Def]maker{ops.DecodeProtoV2: decodeProto, ops.EncodeProto: encodeProto}

// protoField is a field of a message that an op reads.
type protoField struct {
	kind     protoreflect.Kind
	repeated bool
	dtype    tensor.DType
	fallback protoreflect.Value // for messages that do not have the field
}

// protoReader reads some fields of messages of one type.
type protoReader struct {
	fields []protoField
	at     map[protowire.Number][]int // the indices in fields, by number
}

// decodeProto returns for each message the number of values of each field, and the values.
func decodeProto(s *site) (kernel, error) {
	if f := s.str("message_format", "binary"); f != "binary" {
		s.fail("message_format %q %w", f, ErrUnsupported)
	}
	m, err := messageType(s.str("descriptor_source", "local://"), s.str("message_type", ""))
	if err != nil {
		return nil, err
	}
	names, types := list[[]byte](s, "field_names"), list[tensor.DType](s, "output_types")
	if len(names) != len(types) {
		return nil, fmt.Errorf("%d names of fields and %d types", len(names), len(types))
	}
	r := &protoReader{at: map[protowire.Number][]int{}}
	for i, name := range names {
		d := m.Fields().ByName(protoreflect.Name(name))
		if d == nil {
			return nil, fmt.Errorf("field %q is not in message %s", name, m.FullName())
		}
		if !fitsField(d.Kind(), types[i]) {
			return nil, fmt.Errorf("field %q of kind %v as %v: expected a type that it fits into", name, d.Kind(), types[i])
		}
		r.fields = append(r.fields, protoField{d.Kind(), d.IsList() || d.IsMap(), types[i], d.Default()})
		r.at[d.Number()] = append(r.at[d.Number()], i)
	}
	s.outputs = len(types) + 1
	return r.run, s.err
}

// messageType finds a type in a set of descriptors, or among TensorFlow's own.
func messageType(source, name string) (protoreflect.MessageDescriptor, error) {
	var found protoreflect.Descriptor
	files, err := protoregistry.GlobalFiles, error(nil)
	if packed, ok := strings.CutPrefix(source, "bytes://"); ok {
		set := &descriptorpb.FileDescriptorSet{}
		if err := proto.Unmarshal([]byte(packed), set); err != nil {
			return nil, fmt.Errorf("descriptor_source: %w", err)
		}
		if files, err = protodesc.NewFiles(set); err != nil {
			return nil, fmt.Errorf("descriptor_source: %w", err)
		}
	} else if source != "local://" && source != "" {
		return nil, fmt.Errorf("descriptor_source: files of descriptors %w", ErrUnsupported)
	}
	if found, err = files.FindDescriptorByName(protoreflect.FullName(name)); err != nil {
		return nil, fmt.Errorf("message_type %q: it is not described %w", name, ErrUnsupported)
	}
	m, ok := found.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("message_type %q is no message", name)
	}
	return m, nil
}

// fitsField reports whether TensorFlow decodes a kind of field to a type.
func fitsField(k protoreflect.Kind, d tensor.DType) bool {
	switch k {
	case protoreflect.DoubleKind:
		return d == tensor.Float64
	case protoreflect.FloatKind:
		return d == tensor.Float32 || d == tensor.Float64
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return d == tensor.Int64
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return d == tensor.Uint64
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return d == tensor.Uint32 || d == tensor.Uint64
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return d == tensor.Int32 || d == tensor.Int64
	case protoreflect.EnumKind, protoreflect.Sfixed32Kind:
		return d == tensor.Int32
	case protoreflect.BoolKind:
		return d == tensor.Bool
	}
	return d == tensor.String
}

func (r *protoReader) run(c call) error {
	in := c.t(0)
	if err := want("bytes", in, tensor.String); err != nil {
		return err
	}
	n := len(r.fields)
	sizes, err := c.output(0, tensor.Int32, append(append([]int{}, in.Shape...), n)...)
	if err != nil {
		return err
	}
	counts, most := tensor.Values[int32](sizes), make([]int, n)
	for i, message := range in.Strings {
		err := r.each(message, func(f int, _ uint64, _ []byte) {
			if k := i*n + f; counts[k] == 0 || r.fields[f].repeated {
				counts[k]++
			}
		})
		if err != nil {
			return err
		}
		for f := range most {
			most[f] = max(most[f], int(counts[i*n+f]))
		}
	}
	out := make([]*tensor.Tensor, n)
	for f, d := range r.fields {
		if out[f], err = c.output(f+1, d.dtype, append(append([]int{}, in.Shape...), most[f])...); err != nil {
			return err
		}
		for k := range out[f].Len() {
			d.fill(out[f], k)
		}
	}
	next := make([]int, n)
	room := c.textRoom()
	for i, message := range in.Strings {
		clear(next)
		full := error(nil)
		err := r.each(message, func(f int, bits uint64, text []byte) {
			if full == nil {
				full = room.take(len(text))
			}
			r.fields[f].set(out[f], i*most[f]+next[f], bits, text)
			if r.fields[f].repeated {
				next[f]++
			}
		})
		if err = cmp.Or(err, full); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for all values of the fields: with their bits, or their text.
func (r *protoReader) each(message []byte, f func(field int, bits uint64, text []byte)) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errProto
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(number, wire, message)
		if size < 0 {
			return errProto
		}
		for _, i := range r.at[number] {
			if err := r.fields[i].values(number, wire, message[:size], func(bits uint64, text []byte) { f(i, bits, text) }); err != nil {
				return err
			}
		}
		message = message[size:]
	}
	return nil
}

var errProto = errors.New("Unable to parse binary protobuf")

// values calls f for the values in one occurrence of a field: one, or packed ones. It skips another wire type, like an unknown field.
func (d protoField) values(number protowire.Number, wire protowire.Type, data []byte, f func(bits uint64, text []byte)) error {
	own := d.wire()
	switch {
	case wire == own && own == protowire.BytesType:
		text, _ := protowire.ConsumeBytes(data)
		f(0, text)
	case wire == own && own == protowire.StartGroupType:
		text, _ := protowire.ConsumeGroup(number, data)
		f(0, text)
	case wire == own:
		bits, _ := number64(wire, data)
		f(bits, nil)
	case wire == protowire.BytesType && d.repeated && own != protowire.StartGroupType:
		packed, _ := protowire.ConsumeBytes(data)
		for len(packed) > 0 {
			bits, n := number64(own, packed)
			if n < 0 {
				return errProto
			}
			f(bits, nil)
			packed = packed[n:]
		}
	}
	return nil
}

// wire returns the wire type of the field's values.
func (d protoField) wire() protowire.Type {
	switch d.kind {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

// number64 reads the bits of a number, and returns their length in bytes.
func number64(wire protowire.Type, data []byte) (uint64, int) {
	switch wire {
	case protowire.Fixed32Type:
		v, n := protowire.ConsumeFixed32(data)
		return uint64(v), n
	case protowire.Fixed64Type:
		return protowire.ConsumeFixed64(data)
	}
	return protowire.ConsumeVarint(data)
}

// fill sets an element to the value for messages without the field.
func (d protoField) fill(t *tensor.Tensor, at int) {
	switch v := d.fallback.Interface().(type) {
	case string:
		t.Strings[at] = []byte(v)
	case []byte:
		t.Strings[at] = v
	case bool:
		if v {
			t.Bytes[at] = 1
		}
	case float32:
		setReal(t, at, float64(v))
	case float64:
		setReal(t, at, v)
	case int32:
		setWhole(t, at, uint64(v))
	case int64:
		setWhole(t, at, uint64(v))
	case uint32:
		setWhole(t, at, uint64(v))
	case uint64:
		setWhole(t, at, v)
	case protoreflect.EnumNumber:
		setWhole(t, at, uint64(v))
	}
}

// set sets an element to a value from a message.
func (d protoField) set(t *tensor.Tensor, at int, bits uint64, text []byte) {
	switch d.kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		t.Strings[at] = text
	case protoreflect.DoubleKind:
		setReal(t, at, math.Float64frombits(bits))
	case protoreflect.FloatKind:
		setReal(t, at, float64(math.Float32frombits(uint32(bits))))
	case protoreflect.BoolKind:
		t.Bytes[at] = 0
		if bits != 0 {
			t.Bytes[at] = 1
		}
	case protoreflect.Sint32Kind:
		setWhole(t, at, uint64(int32(protowire.DecodeZigZag(bits&math.MaxUint32))))
	case protoreflect.Sint64Kind:
		setWhole(t, at, uint64(protowire.DecodeZigZag(bits)))
	case protoreflect.Sfixed32Kind, protoreflect.EnumKind:
		setWhole(t, at, uint64(int32(bits)))
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind: // in TensorFlow, int32 -1 becomes int64 4294967295
		setWhole(t, at, uint64(uint32(bits)))
	default:
		setWhole(t, at, bits)
	}
}

func setReal(t *tensor.Tensor, at int, v float64) {
	if t.DType == tensor.Float32 {
		tensor.Values[float32](t)[at] = float32(v)
	} else {
		tensor.Values[float64](t)[at] = v
	}
}

func setWhole(t *tensor.Tensor, at int, v uint64) {
	switch t.DType {
	case tensor.Int32:
		tensor.Values[int32](t)[at] = int32(v)
	case tensor.Uint32:
		tensor.Values[uint32](t)[at] = uint32(v)
	case tensor.Int64:
		tensor.Values[int64](t)[at] = int64(v)
	default:
		tensor.Values[uint64](t)[at] = v
	}
}
