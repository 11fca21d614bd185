package eager

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

// uvarint returns the varint that b starts with and its length, 0 where there is none.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n := binary.Uvarint(b)
	return v, max(n, 0)
}

// wireField is one field of a message: a varint's bytes, the bytes of a fixed number or of a
// length-delimited value.
type wireField struct {
	number uint64
	kind   int
	data   []byte
}

// nextField returns the field that b starts with and what follows; ok is false
// where b is malformed. Groups, which no message here has, are.
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

// merge returns the message that a and then b make: protocol buffers are merged
// by concatenation. The usual case of an empty a copies nothing.
func merge(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

// eachFeature calls f with the name and serialized Feature of every entry of a
// serialized tf.Example, in order. A name may come more than once: the last one
// counts. It returns false where the bytes are malformed.
func eachFeature(example []byte, f func(name, feature []byte) bool) bool {
	for len(example) > 0 {
		features, rest, ok := nextField(example)
		if !ok {
			return false
		}
		example = rest
		if features.number != 1 {
			continue
		}
		if features.kind != wireBytes || !eachEntry(features.data, f) {
			return false
		}
	}
	return true
}

// eachEntry goes through the map entries of a Features message.
func eachEntry(features []byte, f func(name, feature []byte) bool) bool {
	for len(features) > 0 {
		entry, rest, ok := nextField(features)
		if !ok {
			return false
		}
		features = rest
		if entry.number != 1 {
			continue
		}
		if entry.kind != wireBytes {
			return false
		}
		var name, feature []byte
		for b := entry.data; len(b) > 0; {
			var part wireField
			if part, b, ok = nextField(b); !ok {
				return false
			}
			switch {
			case part.number > 2:
			case part.kind != wireBytes:
				return false
			case part.number == 1:
				name = part.data
			default:
				feature = merge(feature, part.data)
			}
		}
		if !f(name, feature) {
			return false
		}
	}
	return true
}

// listKind says which list a Feature holds.
type listKind uint8

const (
	noList listKind = iota
	bytesList
	floatList
	int64List
)

// featureList returns the list of a serialized Feature. Of a feature with several, which no writer makes, the
// last one counts, merged with those of its kind directly before it.
func featureList(feature []byte) (kind listKind, data []byte, ok bool) {
	for len(feature) > 0 {
		f, rest, ok := nextField(feature)
		if !ok {
			return noList, nil, false
		}
		feature = rest
		if f.number > 3 {
			continue
		}
		if f.kind != wireBytes {
			return noList, nil, false
		}
		if k := listKind(f.number); k != kind {
			kind, data = k, nil
		}
		data = merge(data, f.data)
	}
	return kind, data, true
}

// countList returns how many values a list has, -1 where it is malformed.
func countList(kind listKind, data []byte) int {
	n := 0
	for len(data) > 0 {
		f, rest, ok := nextField(data)
		if !ok {
			return -1
		}
		data = rest
		if f.number != 1 {
			continue
		}
		switch {
		case kind == bytesList && f.kind == wireBytes, kind == floatList && f.kind == wireFixed32, kind == int64List && f.kind == wireVarint:
			n++
		case kind == floatList && f.kind == wireBytes && len(f.data)%4 == 0:
			n += len(f.data) / 4
		case kind == int64List && f.kind == wireBytes:
			k := countVarints(f.data)
			if k < 0 {
				return -1
			}
			n += k
		default:
			return -1
		}
	}
	return n
}

// countVarints returns how many varints b is, -1 where it is not a sequence of such.
func countVarints(b []byte) int {
	n, length := 0, 0
	for _, c := range b {
		length++
		if length == 10 && c > 1 {
			return -1
		}
		if c < 0x80 {
			n, length = n+1, 0
		}
	}
	if length > 0 {
		return -1
	}
	return n
}

// readBytes fills dst with a bytes list that countList has checked. The strings alias data.
func readBytes(dst [][]byte, data []byte) {
	for i := 0; len(data) > 0; {
		f, rest, _ := nextField(data)
		if data = rest; f.number == 1 {
			dst[i] = f.data
			i++
		}
	}
}

// readFloats fills dst with a checked float list.
func readFloats(dst []float32, data []byte) {
	for len(data) > 0 {
		f, rest, _ := nextField(data)
		if data = rest; f.number != 1 {
			continue
		}
		for b := f.data; len(b) > 0; b = b[4:] {
			dst[0] = math.Float32frombits(binary.LittleEndian.Uint32(b))
			dst = dst[1:]
		}
	}
}

// readInts fills dst with a checked int64 list.
func readInts(dst []int64, data []byte) {
	for len(data) > 0 {
		f, rest, _ := nextField(data)
		if data = rest; f.number != 1 {
			continue
		}
		for b := f.data; len(b) > 0; {
			v, n := uvarint(b)
			dst[0] = int64(v)
			dst, b = dst[1:], b[n:]
		}
	}
}
