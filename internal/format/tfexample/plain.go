package tfexample

import "encoding/binary"

// Plain iterates over the features of an example in the form that writers use: one Features message, in which each
// entry has a name, then a feature with at most one list. It is several times as fast as EachFeature, which reads all other forms, too.
type Plain struct{ Rest []byte } // the remaining entries, up to the end of the example

// Field tags of length-delimited fields.
const (
	tagFirst  = 1<<3 | wireBytes // Example.features, Features.feature, an entry's key, a list's values
	tagSecond = 2<<3 | wireBytes // an entry's value
)

// ReadPlain starts reading an example; ok is false if it has another form.
func ReadPlain(example []byte) (p Plain, ok bool) {
	if len(example) == 0 {
		return p, true
	}
	features, rest, ok := cutField(example, tagFirst)
	return Plain{features}, ok && len(rest) == 0
}

// More reports whether there is another feature.
func (p *Plain) More() bool { return len(p.Rest) > 0 }

// Next returns the name, kind and list of the next feature, like EachFeature and List; ok is false if it has another form.
func (p *Plain) Next() (name []byte, kind Kind, list []byte, ok bool) {
	if name, kind, list, ok = p.short(); ok {
		return name, kind, list, true
	}
	return p.long()
}

// ShortName returns the name in the first of entries, if both its lengths take one byte. It does not check the entry: the name is what
// Next would return, if Next can read the entry.
func ShortName(entries []byte) (name []byte, ok bool) {
	if len(entries) < 4 || entries[1]|entries[3] >= 0x80 || int(entries[3]) > len(entries)-4 {
		return nil, false
	}
	return entries[4 : 4+int(entries[3])], true
}

// short is Next for an entry with a list whose lengths take one byte each.
func (p *Plain) short() (name []byte, kind Kind, list []byte, ok bool) {
	b := p.Rest
	if len(b) < 2 || b[0] != tagFirst || b[1] >= 0x80 || int(b[1]) > len(b)-2 {
		return nil, None, nil, false
	}
	entry := b[2 : 2+int(b[1])]
	if len(entry) < 2 || entry[0] != tagFirst {
		return nil, None, nil, false
	}
	at := 2 + int(entry[1]) // of the feature's field
	if at+4 > len(entry) || entry[at] != tagSecond || int(entry[at+1]) != len(entry)-at-2 || int(entry[at+3]) != len(entry)-at-4 {
		return nil, None, nil, false
	}
	tag := entry[at+2]
	if kind = Kind(tag >> 3); kind == None || kind > Ints || tag&7 != wireBytes {
		return nil, None, nil, false
	}
	p.Rest = b[2+len(entry):]
	return entry[2:at], kind, entry[at+4:], true
}

// long is Next for any plain entry.
func (p *Plain) long() (name []byte, kind Kind, list []byte, ok bool) {
	entry, rest, ok := cutField(p.Rest, tagFirst)
	if !ok {
		return nil, None, nil, false
	}
	p.Rest = rest
	if name, rest, ok = cutField(entry, tagFirst); !ok {
		return nil, None, nil, false
	}
	feature, rest, ok := cutField(rest, tagSecond)
	if !ok || len(rest) > 0 {
		return nil, None, nil, false
	}
	if len(feature) == 0 {
		return name, None, nil, true
	}
	kind = Kind(feature[0] >> 3)
	if kind == None || kind > Ints {
		return nil, None, nil, false
	}
	list, rest, ok = cutField(feature, byte(kind)<<3|wireBytes)
	return name, kind, list, ok && len(rest) == 0
}

// Only returns the value of a list of Bytes with a single value, or the packed numbers of another list; ok is false if the list has another form.
func Only(list []byte) (data []byte, ok bool) {
	data, rest, ok := cutField(list, tagFirst)
	return data, ok && len(rest) == 0
}

// PackedInts fills dst with packed varints; ok is false if there are not exactly len(dst).
func PackedInts(dst []int64, packed []byte) (ok bool) {
	for i := range dst {
		v, n := uvarint(packed)
		if n == 0 {
			return false
		}
		dst[i], packed = int64(v), packed[n:]
	}
	return len(packed) == 0
}

// cutField returns the length-delimited field with the given tag at the start of b, and the rest; ok is false if there is none.
func cutField(b []byte, tag byte) (data, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != tag {
		return nil, nil, false
	}
	size, at := uint64(b[1]), 2
	if size >= 0x80 {
		v, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return nil, nil, false
		}
		size, at = v, 1+n
	}
	if size > uint64(len(b)-at) {
		return nil, nil, false
	}
	end := at + int(size)
	return b[at:end], b[end:], true
}
