package tfexample

import (
	"encoding/binary"
	"math"
)

// Wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// uvarint returns the varint at the start of b and its length, 0 if there is none.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n := binary.Uvarint(b)
	return v, max(n, 0)
}

// wireField is one field of a message: the bytes of a varint, of a fixed-size number or of a
// length-delimited value.
type wireField struct {
	number uint64
	kind   int
	data   []byte
}

// nextField returns the field at the start of b and the rest; ok is false
// if b is malformed. Groups count as malformed, since no message here has them.
func nextField(b []byte) (f wireField, rest []byte, ok bool) {
	tag, n := uvarint(b)
	if n == 0 || tag>>3 == 0 || tag > math.MaxUint32 {
		return f, nil, false
	}
	b = b[n:]
	f.number, f.kind = tag>>3, int(tag&7)
	var size int
	switch f.kind {
	case wireVarint:
		if _, size = uvarint(b); size == 0 {
			return f, nil, false
		}
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireBytes:
		v, n := uvarint(b)
		if n == 0 || v > uint64(len(b)-n) {
			return f, nil, false
		}
		b, size = b[n:], int(v)
	default:
		return f, nil, false
	}
	if size > len(b) {
		return f, nil, false
	}
	f.data = b[:size]
	return f, b[size:], true
}
