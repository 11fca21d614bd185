package wire

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// all returns an empty message of every type.
func all(tb testing.TB) (out []proto.Message) {
	tb.Helper()
	list := File_cluster_proto.Messages()
	for i := range list.Len() {
		m, err := protoregistry.GlobalTypes.FindMessageByName(list.Get(i).FullName())
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, m.New().Interface())
	}
	return out
}

// full sets every field of a message to something.
func full(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			full(m.Mutable(f).List().AppendMutable().Message())
		case f.IsList():
			m.Mutable(f).List().Append(something(f))
		case f.Kind() == protoreflect.MessageKind:
			full(m.Mutable(f).Message())
		default:
			m.Set(f, something(f))
		}
	}
}

func something(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(-3)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(0.5)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("not UTF-8: \xff")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("b"))
	default: // uint64, fixed64
		return protoreflect.ValueOfUint64(math.MaxUint64)
	}
}

func TestMessagesComeBack(t *testing.T) {
	for _, m := range all(t) {
		full(m.ProtoReflect())
		got := m.ProtoReflect().New().Interface()
		if err := Decode(Encode(m), got); err != nil || !proto.Equal(m, got) {
			t.Errorf("%T: %v, expected %v: %v", m, got, m, err)
		}
	}
}

// Additions by a newer release of the same version are skipped.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	for _, m := range all(t) {
		full(m.ProtoReflect())
		b := Encode(m)
		for _, num := range []protowire.Number{900, protowire.MaxValidNumber} {
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), 1)
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), []byte("more"))
		}
		got := m.ProtoReflect().New().Interface()
		if err := Decode(b, got); err != nil || !proto.Equal(m, got) {
			t.Errorf("%T: %v, expected %v: %v", m, got, m, err)
		}
	}
}

// Fields that an older release of the same version does not send are zero.
func TestMissingFieldsAreZero(t *testing.T) {
	for _, m := range all(t) {
		got := m.ProtoReflect().New().Interface()
		full(got.ProtoReflect())
		if err := Decode(nil, got); err != nil || !proto.Equal(m, got) {
			t.Errorf("%T: %v, expected %v: %v", m, got, m, err)
		}
	}
}

func TestOtherTypesAreRefused(t *testing.T) {
	for _, m := range all(t) {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			b := protowire.AppendFixed32(protowire.AppendTag(nil, fields.Get(i).Number(), protowire.Fixed32Type), 1)
			if err := Decode(b, m); !errors.Is(err, ErrMalformed) {
				t.Errorf("%T, %s: %v, expected an error", m, fields.Get(i).Name(), err)
			}
		}
	}
}

// TestMemoryOfLists bounds the memory of a message by its length.
func TestMemoryOfLists(t *testing.T) {
	b := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), make([]byte, 1<<20)) // as many zeros
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Decode(b, &RowsRequest{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("%d bytes for a message of %d", n, len(b))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	for _, m := range all(f) {
		full(m.ProtoReflect())
		f.Add(Encode(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range all(t) {
			if Decode(b, m) != nil {
				continue
			}
			again := m.ProtoReflect().New().Interface()
			if err := Decode(Encode(m), again); err != nil || !bytes.Equal(Encode(again), Encode(m)) {
				t.Fatalf("%T %x: %v", m, b, err)
			}
		}
	})
}
