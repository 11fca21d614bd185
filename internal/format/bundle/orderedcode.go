package bundle

import (
	"encoding/binary"
	"math/bits"
)

// sliceKey returns the key of a slice of a partitioned tensor
// (tensorflow/core/util/saved_tensor_slice_util.cc, EncodeTensorNameSlice): a
// sequence in OrderedCode, whose bytes sort like the values.
func sliceKey(name string, s Slice) string {
	b := appendNum(nil, 0)
	b = appendString(b, name)
	b = appendNum(b, uint64(len(s)))
	for _, e := range s {
		b = appendSigned(b, int64(e.Start))
		b = appendSigned(b, int64(e.Length))
	}
	return string(b)
}

// isSliceKey distinguishes slice keys from names: they begin with the number 0.
func isSliceKey(key string) bool { return len(key) > 0 && key[0] == 0 }

// appendNum writes an unsigned number: its length, then its significant bytes.
func appendNum(b []byte, v uint64) []byte {
	n := (bits.Len64(v) + 7) / 8
	b = append(b, byte(n))
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], v)
	return append(b, be[8-n:]...)
}

// appendString writes a string: 00 as 00 FF, FF as FF 00, and 00 01 at the end.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		b = append(b, s[i])
		switch s[i] {
		case 0x00:
			b = append(b, 0xff)
		case 0xff:
			b = append(b, 0x00)
		}
	}
	return append(b, 0x00, 0x01)
}

// appendSigned writes a signed number in 1 to 10 bytes of 7 value bits each: the
// number of leading one bits (of the number's sign-extended form, inverted) is
// the length.
func appendSigned(b []byte, v int64) []byte {
	x := uint64(v)
	if v < 0 {
		x = ^x
	}
	n := bits.Len64(x)/7 + 1 // one bit more than the magnitude, for the sign
	buf := [10]byte{}
	if v < 0 {
		buf[0], buf[1] = 0xff, 0xff
	}
	binary.BigEndian.PutUint64(buf[2:], uint64(v))
	out := buf[10-n:]
	header := uint16(0xffff) << (16 - n)
	out[0] ^= byte(header >> 8)
	if n > 1 {
		out[1] ^= byte(header)
	}
	return append(b, out...)
}
