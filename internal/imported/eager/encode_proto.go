package eager

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/goestimator/goestimator/tensor"
)

// protoWriter writes some fields of messages of one type, in the order of their numbers.
type protoWriter struct {
	message protoreflect.FullName
	names   []string // names of the fields, in the order of the inputs
	fields  []writtenField
}

// writtenField is a field whose values are in input 1+at.
type writtenField struct {
	protoField
	number protowire.Number
	packed bool
	at     int
}

// encodeProto makes messages from the values of their fields, and the number of values of each field.
func encodeProto(s *site) (kernel, error) {
	m, err := messageType(s.str("descriptor_source", "local://"), s.str("message_type", ""))
	if err != nil {
		return nil, err
	}
	names, types := list[[]byte](s, "field_names"), list[tensor.DType](s, "Tinput_types")
	if len(names) != len(types) || len(names) == 0 {
		return nil, fmt.Errorf("%d names of fields and %d types", len(names), len(types))
	}
	w := &protoWriter{message: m.FullName()}
	for i, name := range names {
		d := m.Fields().ByName(protoreflect.Name(name))
		switch {
		case d == nil:
			return nil, fmt.Errorf("Unknown field: %s in message type %s", clip(name), m.FullName())
		case !fitsField(d.Kind(), types[i]):
			return nil, fmt.Errorf("Incompatible type for field %s.  Saw dtype: %s but field type is: %v", name, typeText(types[i]), d.Kind())
		case d.Kind() == protoreflect.GroupKind:
			return nil, fmt.Errorf("field %s is a group, which is %w", name, ErrUnsupported)
		}
		w.names = append(w.names, string(name))
		w.fields = append(w.fields, writtenField{protoField{kind: d.Kind(), dtype: types[i]}, d.Number(), d.IsPacked(), i})
	}
	slices.SortStableFunc(w.fields, func(a, b writtenField) int { return cmp.Compare(a.number, b.number) })
	return w.run, s.err
}

func (w *protoWriter) run(c call) error {
	if len(c.in) != 1+len(w.fields) {
		return fmt.Errorf("expected %d inputs, got %d", 1+len(w.fields), len(c.in))
	}
	if err := want("sizes", c.t(0), tensor.Int32); err != nil {
		return err
	}
	batch, err := w.batch(c)
	if err != nil {
		return err
	}
	out, err := c.output(0, tensor.String, batch...)
	if err != nil {
		return err
	}
	room, counts := c.textRoom(), tensor.Values[int32](c.t(0))
	for i := range out.Strings {
		sizes := counts[i*len(w.fields):][:len(w.fields)]
		if out.Strings[i], err = w.encode(c, i, sizes); err != nil {
			return err
		}
		if err := room.take(len(out.Strings[i])); err != nil {
			return err
		}
	}
	return nil
}

// batch returns the shape of the messages: all values' shape without the last dimension.
func (w *protoWriter) batch(c call) ([]int, error) {
	var batch []int
	for i, name := range w.names {
		shape := c.t(i + 1).Shape
		if len(shape) < 2 {
			return nil, fmt.Errorf("Invalid shape for field %s.  Saw shape %s but it should be at least a matrix.", name, shapeText(shape))
		}
		if i == 0 {
			batch = shape[:len(shape)-1]
		} else if !slices.Equal(batch, shape[:len(shape)-1]) {
			return nil, errors.New("Values must match up to the last dimension")
		}
	}
	if expected := append(slices.Clone(batch), len(w.names)); !slices.Equal(c.t(0).Shape, expected) {
		return nil, fmt.Errorf("sizes should be batch_size + [len(field_names)].  Saw: %s but expected: %s", shapeText(c.t(0).Shape), shapeText(expected))
	}
	return batch, nil
}

// encode makes message i, whose fields have the numbers of values in sizes.
func (w *protoWriter) encode(c call, i int, sizes []int32) (out []byte, err error) {
	for _, f := range w.fields {
		t, n := c.t(f.at+1), int(sizes[f.at])
		width := t.Shape[len(t.Shape)-1]
		if n > width {
			return nil, fmt.Errorf("Size to write must not be larger than value tensor; but saw: %d > %d at message %d field %d", n, width, i, f.at)
		}
		if !f.packed || n == 0 {
			for k := range n {
				out = f.value(protowire.AppendTag(out, f.number, f.wire()), t, i*width+k)
			}
			continue
		}
		var all []byte
		for k := range n {
			all = f.value(all, t, i*width+k)
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, f.number, protowire.BytesType), all)
	}
	return out, nil
}

// value appends element at of a tensor. 64-bit numbers are truncated if the field has 32 bits.
func (d protoField) value(out []byte, t *tensor.Tensor, at int) []byte {
	switch d.kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.AppendBytes(out, t.Strings[at])
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(out, math.Float64bits(t.Float(at)))
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(out, math.Float32bits(float32(t.Float(at))))
	}
	v := t.Int(at)
	switch d.kind {
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		v = int64(int32(v))
	case protoreflect.Uint32Kind:
		v = int64(uint32(v))
	case protoreflect.Sint32Kind:
		return protowire.AppendVarint(out, protowire.EncodeZigZag(int64(int32(v))))
	case protoreflect.Sint64Kind:
		return protowire.AppendVarint(out, protowire.EncodeZigZag(v))
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(out, uint32(v))
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(out, uint64(v))
	}
	return protowire.AppendVarint(out, uint64(v))
}
