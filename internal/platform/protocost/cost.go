package protocost

import (
	"math"
	"reflect"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Of returns the approximate size of m in memory once data is read into it, without reading it: two bytes may ask for a message of
// five hundred. It is an upper bound apart from the allocator's overhead. The field skipped of m stays in one piece; 0: none.
func Of(data mem.BufferSlice, m proto.Message, skipped protowire.Number) int {
	r := Reader{data.Reader()}
	defer func() { _ = r.Close() }()
	md := m.ProtoReflect().Descriptor()
	n := sizeOf(md) + r.fields(md, r.Remaining(), skipped, 0)
	if skipped != 0 {
		n += data.Len()
	}
	return n
}

// The memory of fields besides their bytes. Slices that grow by appending are copied.
const (
	grownBy     = 5 // a long slice grows by a quarter: with its old arrays, it takes five times its content
	pointerCost = 3 * 8
	stringCost  = 3 * 24  // the header of a string or of bytes
	entryCost   = 2 * 100 // an entry of a map
	roundUp     = 16      // by the allocator, for small pieces
	deepest     = 10_000  // protobuf's own limit
)

// fields returns the size of the next n bytes, the fields of a message, without the field skipped. The rest of malformed fields is
// ignored: reading them fails there, too.
func (r Reader) fields(md protoreflect.MessageDescriptor, n int, skipped protowire.Number, depth int) int {
	end, cost := r.Remaining()-n, 0
	for r.Remaining() > end {
		num, typ, ok := r.Tag()
		if !ok {
			return cost
		}
		var f protoreflect.FieldDescriptor
		if md != nil && num != skipped {
			f = md.Fields().ByNumber(num)
		}
		more, ok := r.field1(f, typ, end, depth)
		if num != skipped {
			cost += more
		}
		if !ok || cost < 0 || cost > math.MaxInt/4 {
			return min(max(cost, 0), math.MaxInt/4)
		}
	}
	return cost
}

// field1 returns the size of one field whose tag was read; f is nil for an unknown field, which is kept as it came.
func (r Reader) field1(f protoreflect.FieldDescriptor, typ protowire.Type, end, depth int) (int, bool) {
	switch typ {
	case protowire.VarintType:
		_, ok := r.Varint()
		return grownBy * elementSize(f), ok
	case protowire.Fixed32Type:
		return grownBy * elementSize(f), r.discard(4)
	case protowire.Fixed64Type:
		return grownBy * elementSize(f), r.discard(8)
	case protowire.BytesType:
		n, ok := r.Length()
		if !ok || n > r.Remaining()-end {
			return 0, false
		}
		return r.bytesField(f, n, depth)
	}
	return 0, false // groups: the ordinary codec reads groups of small messages
}

func (r Reader) bytesField(f protoreflect.FieldDescriptor, n, depth int) (int, bool) {
	switch {
	case f == nil:
		return 3 * (n + 2*protowire.SizeVarint(uint64(n))), r.discard(n)
	case f.IsMap():
		return entryCost + r.within(f.Message(), n, depth), true
	case f.Message() != nil:
		return pointerCost + r.within(f.Message(), n, depth), true
	case f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind:
		return stringCost + roundUp + n, r.discard(n)
	}
	switch f.Kind() {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return n + roundUp, r.discard(n)
	}
	return elementSize(f)*r.varints(n) + roundUp, true
}

// within returns the size of a nested message of n bytes.
func (r Reader) within(md protoreflect.MessageDescriptor, n, depth int) int {
	if depth == deepest {
		return 0
	}
	end := r.Remaining() - n
	cost := sizeOf(md) + r.fields(md, n, 0, depth+1)
	r.discard(r.Remaining() - end) // the rest of a malformed message
	return cost
}

// varints counts the varints in the next n bytes.
func (r Reader) varints(n int) (count int) {
	for n > 0 {
		parts, err := r.Peek(min(n, 1<<16), nil)
		if err != nil {
			return count
		}
		for _, p := range parts {
			for _, b := range p {
				if b < 0x80 {
					count++
				}
			}
			n -= len(p)
		}
		for _, p := range parts {
			r.discard(len(p))
		}
	}
	return count
}

func (r Reader) discard(n int) bool {
	done, err := r.Discard(n)
	return err == nil && done == n
}

// elementSize is the size of a number in memory.
func elementSize(f protoreflect.FieldDescriptor) int {
	if f == nil {
		return 8
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return 1
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.EnumKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return 4
	}
	return 8
}

var sizes sync.Map // of messages, by descriptor

// sizeOf is the size of an empty message.
func sizeOf(md protoreflect.MessageDescriptor) int {
	if n, ok := sizes.Load(md); ok {
		return n.(int)
	}
	n := 128
	if typ, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName()); err == nil {
		n = int(reflect.TypeOf(typ.Zero().Interface()).Elem().Size()) + roundUp
	}
	if md.IsMapEntry() {
		n = roundUp
	}
	sizes.Store(md, n)
	return n
}
