package pieces

import (
	"encoding/binary"
	"errors"
)

var errFlat = errors.New("damaged model of word pieces")

// flat is a FlatBuffer whose root is a table; err is the first fault.
type flat struct {
	b      []byte
	table  int
	vtable []byte
	err    error
}

func newFlat(b []byte) *flat {
	f := &flat{b: b}
	f.table = f.number(0)
	at := f.table - int(int32(f.number(f.table)))
	if f.err != nil || at < 0 || at+4 > len(b) {
		f.err = errFlat
		return f
	}
	if n := int(binary.LittleEndian.Uint16(b[at:])); at+n <= len(b) {
		f.vtable = b[at : at+n]
	} else {
		f.err = errFlat
	}
	return f
}

// number reads a 32-bit integer.
func (f *flat) number(at int) int {
	if f.err != nil || at < 0 || at+4 > len(f.b) {
		f.err = errFlat
		return 0
	}
	return int(binary.LittleEndian.Uint32(f.b[at:]))
}

// field returns where a field of the table is, or 0 if it is absent.
func (f *flat) field(i int) int {
	if 4+2*i+2 > len(f.vtable) {
		return 0
	}
	if at := int(binary.LittleEndian.Uint16(f.vtable[4+2*i:])); at > 0 {
		return f.table + at
	}
	return 0
}

// integer returns the value of a 32-bit field.
func (f *flat) integer(i int) int {
	if at := f.field(i); at > 0 {
		return f.number(at)
	}
	return 0
}

func (f *flat) boolean(i int) bool {
	at := f.field(i)
	return at > 0 && at < len(f.b) && f.b[at] != 0
}

// vector returns the content of a field whose elements have that size; the size is 1 for text.
func (f *flat) vector(i, size int) []byte {
	at := f.field(i)
	if at == 0 {
		return nil
	}
	at += f.number(at)
	n := f.number(at) * size
	if at += 4; f.err != nil || at+n > len(f.b) {
		f.err = errFlat
		return nil
	}
	return f.b[at : at+n]
}
