package tfexample

import (
	"context"
	"encoding/binary"
	"math"
)

// A message may have very many small fields. Each function below checks ctx once every checkEvery fields, and returns false
// (Count: -1) if it has ended.
const checkEvery = 1 << 12

// mergedMessage is a message that came in parts: protocol buffers are merged by concatenation. A single part, the usual case,
// is not copied; each further part is copied once.
type mergedMessage struct {
	data []byte
	own  bool // data is a copy that may be appended to
}

func (j *mergedMessage) add(part []byte) {
	switch {
	case len(j.data) == 0:
		j.data = part
	case len(part) == 0:
	case !j.own:
		j.data, j.own = append(append(make([]byte, 0, 2*(len(j.data)+len(part))), j.data...), part...), true
	default:
		j.data = append(j.data, part...)
	}
}

// EachFeature calls f with the name and serialized tf.train.Feature of each
// feature of an example, in order, until f returns false. If a name occurs more
// than once, the last one counts. EachFeature returns false if f did, if
// the bytes are malformed, or if ctx has ended.
func EachFeature(ctx context.Context, example []byte, f func(name, feature []byte) bool) bool {
	w := decoder{ctx: ctx, f: f}
	return w.maps(example, 1)
}

// maps reads the entries of the maps in a field of an example.
func (w *decoder) maps(example []byte, number uint64) bool {
	for len(example) > 0 {
		field, rest, ok := w.next(example)
		if !ok {
			return false
		}
		example = rest
		if field.number != number {
			continue
		}
		if field.kind != wireBytes || !w.entries(field.data) {
			return false
		}
	}
	return true
}

// decoder reads the fields of an example.
type decoder struct {
	ctx  context.Context
	f    func(name, feature []byte) bool
	seen int // fields read
}

// next is nextField, but fails once ctx has ended.
func (w *decoder) next(b []byte) (wireField, []byte, bool) {
	if w.seen++; w.seen%checkEvery == 0 && w.ctx.Err() != nil {
		return wireField{}, nil, false
	}
	return nextField(b)
}

// entries reads the entries of a Features or FeatureLists message.
func (w *decoder) entries(features []byte) bool {
	for len(features) > 0 {
		entry, rest, ok := w.next(features)
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
		var name []byte
		var feature mergedMessage
		for b := entry.data; len(b) > 0; {
			var part wireField
			if part, b, ok = w.next(b); !ok {
				return false
			}
			switch {
			case part.number > 2:
			case part.kind != wireBytes:
				return false
			case part.number == 1:
				name = part.data
			default:
				feature.add(part.data)
			}
		}
		if !w.f(name, feature.data) {
			return false
		}
	}
	return true
}

// Kind is the kind of list that a feature has.
type Kind uint8

// The kinds, by their field numbers in tf.train.Feature.
const (
	None Kind = iota // no list: the feature counts as missing
	Bytes
	Floats
	Ints
)

// String returns TensorFlow's name for a list's elements.
func (k Kind) String() string {
	return [...]string{"invalid", "string", "float", "int64"}[k]
}

// List returns the list of a feature, for the functions
// below; ok is false if the bytes are malformed. If a feature has several lists, which no writer makes, the
// last one counts, merged with the lists of its kind directly before it.
func List(ctx context.Context, feature []byte) (kind Kind, data []byte, ok bool) {
	var list mergedMessage
	for n := 1; len(feature) > 0; n++ {
		f, rest, ok := nextField(feature)
		if !ok || n%checkEvery == 0 && ctx.Err() != nil {
			return None, nil, false
		}
		feature = rest
		if f.number > 3 {
			continue
		}
		if f.kind != wireBytes {
			return None, nil, false
		}
		if k := Kind(f.number); k != kind {
			kind, list = k, mergedMessage{}
		}
		list.add(f.data)
	}
	return kind, list.data, true
}

// Count returns the number of values in a list, -1 if it is malformed or not of that kind.
func Count(ctx context.Context, kind Kind, data []byte) int {
	n := 0
	for k := 1; len(data) > 0; k++ {
		f, rest, ok := nextField(data)
		if !ok || k%checkEvery == 0 && ctx.Err() != nil {
			return -1
		}
		data = rest
		if f.number != 1 {
			continue
		}
		switch {
		case kind == Bytes && f.kind == wireBytes, kind == Floats && f.kind == wireFixed32, kind == Ints && f.kind == wireVarint:
			n++
		case kind == Floats && f.kind == wireBytes && len(f.data)%4 == 0:
			n += len(f.data) / 4
		case kind == Ints && f.kind == wireBytes:
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

// countVarints returns the number of varints in b, -1 if it is malformed.
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

// ReadBytes fills dst with a list of Bytes for which Count returned
// len(dst). The strings alias data.
func ReadBytes(dst [][]byte, data []byte) {
	for i := 0; len(data) > 0; {
		f, rest, _ := nextField(data)
		if data = rest; f.number == 1 {
			dst[i] = f.data
			i++
		}
	}
}

// ReadFloats fills dst with a checked list of Floats of len(dst) values.
func ReadFloats(dst []float32, data []byte) {
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

// ReadInts fills dst with a checked list of Ints of len(dst) values.
func ReadInts(dst []int64, data []byte) {
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
