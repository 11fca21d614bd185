package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ErrMalformed is wrapped by the errors of Decode.
var ErrMalformed = errors.New("malformed")

// Encode returns the bytes of a message.
func Encode(m proto.Message) []byte { return Append(nil, m) }

// Append appends the bytes of a message to b.
func Append(b []byte, m proto.Message) []byte {
	out, err := proto.MarshalOptions{}.MarshalAppend(b, m)
	if err != nil {
		panic(err) // the schema has no required fields, and no texts that must be UTF-8
	}
	return out
}

// Decode sets m to the message in b and copies what it needs. Fields that are not in
// the schema are skipped; a field of m itself whose type on the wire differs from
// the schema is an error. In messages within m such a field is skipped.
func Decode(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("%w %s: %w", ErrMalformed, m.ProtoReflect().Descriptor().Name(), err)
	}
	r := m.ProtoReflect()
	unknown := r.GetUnknown()
	if len(unknown) == 0 {
		return nil
	}
	if err := checkUnknown(unknown, r.Descriptor()); err != nil {
		return err
	}
	r.SetUnknown(nil)
	return nil
}

// DecodePart is Decode for one of several consecutive messages: it skips all fields
// that m does not have. It allocates nothing if m has only numbers, so m may be
// reused.
func DecodePart(b []byte, m proto.Message) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, m); err != nil {
		return fmt.Errorf("%w %s: %w", ErrMalformed, m.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}

// checkUnknown refuses fields that are unknown only because of their type.
func checkUnknown(b []byte, d protoreflect.MessageDescriptor) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return fmt.Errorf("%w %s: %w", ErrMalformed, d.Name(), protowire.ParseError(n))
		}
		if f := d.Fields().ByNumber(num); f != nil {
			return fmt.Errorf("%w %s: field %d (%s) has wire type %d, expected a %v", ErrMalformed, d.Name(), num, f.Name(), typ, f.Kind())
		}
		b = b[n:]
	}
	return nil
}
