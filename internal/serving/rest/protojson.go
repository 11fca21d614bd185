package rest

import (
	"cmp"
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// message writes a protocol buffer as C++'s MessageToJsonString does with always_print_fields_with_no_presence: fields
// by number under their proto names, oneof members last and only if set, 64-bit integers as strings. Maps are sorted
// (there they have no order).
func (w *writer) message(m protoreflect.Message) {
	w.open('{')
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.ContainingOneof() == nil && (!f.HasPresence() || m.Has(f)) {
			w.field(m, f)
		}
	}
	for i := range fields.Len() {
		if f := fields.Get(i); f.ContainingOneof() != nil && m.Has(f) {
			w.field(m, f)
		}
	}
	w.close('}')
}

func (w *writer) field(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	w.quoted([]byte(f.Name()))
	v := m.Get(f)
	switch {
	case f.IsMap():
		w.open('{')
		keys := make([]protoreflect.MapKey, 0, v.Map().Len())
		for k := range v.Map().Range {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return cmp.Compare(a.String(), b.String()) })
		for _, k := range keys {
			w.quoted([]byte(k.String()))
			w.scalar(f.MapValue(), v.Map().Get(k))
		}
		w.close('}')
	case f.IsList():
		w.open('[')
		for i := range v.List().Len() {
			w.scalar(f, v.List().Get(i))
		}
		w.close(']')
	default:
		w.scalar(f, v)
	}
}

// scalar writes one value of a field that is neither a list nor a map.
func (w *writer) scalar(f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if wrapped, ok := wrapper(v.Message()); ok {
			w.scalar(wrapped, v.Message().Get(wrapped))
			return
		}
		w.message(v.Message())
	case protoreflect.EnumKind:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			w.quoted([]byte(e.Name()))
			return
		}
		w.raw(strconv.Itoa(int(v.Enum())))
	case protoreflect.StringKind:
		w.quoted([]byte(v.String()))
	case protoreflect.BytesKind:
		w.quoted([]byte(base64.StdEncoding.EncodeToString(v.Bytes())))
	case protoreflect.FloatKind:
		w.number(v.Float(), 32)
	case protoreflect.DoubleKind:
		w.number(v.Float(), 64)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.quoted([]byte(v.String()))
	default:
		w.raw(v.String()) // bool, 32-bit integers
	}
}

func (w *writer) number(v float64, bits int) {
	switch {
	case math.IsNaN(v):
		w.raw(`"NaN"`)
	case math.IsInf(v, 0):
		w.raw(map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0])
	default:
		w.raw(strconv.FormatFloat(v, 'g', -1, bits))
	}
}

// wrapper returns the only field of a wrapped scalar such as Int64Value, which is a bare value in JSON.
func wrapper(m protoreflect.Message) (protoreflect.FieldDescriptor, bool) {
	d := m.Descriptor()
	if d.FullName().Parent() != "google.protobuf" || d.Fields().Len() != 1 {
		return nil, false
	}
	f := d.Fields().ByName("value")
	return f, f != nil
}

// appendMessage appends a message and a line break.
func appendMessage(out []byte, m proto.Message) []byte {
	w := &writer{buf: out, narrow: true}
	w.message(m.ProtoReflect())
	return append(w.buf, '\n')
}
