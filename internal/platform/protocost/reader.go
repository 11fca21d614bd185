package protocost

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Reader reads the fields of a message from pieces of memory. Every method reports whether the data was as expected.
type Reader struct{ *mem.Reader }

// Varint reads a number.
func (r Reader) Varint() (v uint64, ok bool) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, false
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, shift < 63 || b <= 1
		}
	}
	return 0, false
}

// Tag reads the number and the type of a field.
func (r Reader) Tag() (protowire.Number, protowire.Type, bool) {
	v, ok := r.Varint()
	num, typ := protowire.DecodeTag(v)
	return num, typ, ok && num.IsValid()
}

// Length reads the length of the following data, which must exist.
func (r Reader) Length() (int, bool) {
	v, ok := r.Varint()
	return int(v), ok && v <= uint64(r.Remaining())
}
