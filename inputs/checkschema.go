package inputs

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The Arrow library allocates lists of the length that a file's metadata claims
// before it checks that the bytes exist: a damaged count would take all memory. The
// functions here first read the same flatbuffers (format/Schema.fbs, Message.fbs
// and File.fbs of Arrow). Offsets outside the bytes panic; recoverArrow turns
// the panic into an error of the library's form.

// flatbuffer reads a flatbuffer that describes fields.
type flatbuffer struct {
	buf    []byte
	fields int // fields that may still be visited; offsets may share them
}

func newFlatbuffer(buf []byte) *flatbuffer { return &flatbuffer{buf: buf, fields: len(buf) / 4} }

func (f *flatbuffer) u16(at int) int { return int(binary.LittleEndian.Uint16(f.buf[at:])) }
func (f *flatbuffer) u32(at int) int { return int(binary.LittleEndian.Uint32(f.buf[at:])) }

// target returns the position that the offset at a position points to.
func (f *flatbuffer) target(at int) int { return at + f.u32(at) }

// slot returns the position of field i of a table, 0 if it is absent.
func (f *flatbuffer) slot(table, i int) int {
	vtable := table - int(int32(f.u32(table)))
	if 4+2*i >= f.u16(vtable) || f.u16(vtable+4+2*i) == 0 {
		return 0
	}
	return table + f.u16(vtable+4+2*i)
}

// vector returns the first of the n 4-byte elements of field i.
func (f *flatbuffer) vector(table, i int) (first, n int) {
	at := f.slot(table, i)
	if at == 0 {
		return 0, 0
	}
	at = f.target(at)
	first, n = at+4, f.u32(at)
	if n > (len(f.buf)-first)/4 {
		panic(fmt.Sprintf("its metadata claims a list of %d entries", n))
	}
	return first, n
}

func (f *flatbuffer) checkSchema(table int) {
	f.vector(table, 2) // custom metadata
	f.checkFields(table, 1)
}

func (f *flatbuffer) checkFields(table, i int) {
	first, n := f.vector(table, i)
	if f.fields -= n; f.fields < 0 {
		panic("its metadata claims more fields than it can hold")
	}
	for k := range n {
		field := f.target(first + 4*k)
		f.vector(field, 6) // custom metadata
		const union = 14
		if at := f.slot(field, 2); at > 0 && f.buf[at] == union && f.slot(field, 3) > 0 {
			f.vector(f.target(f.slot(field, 3)), 1) // ids of its types
		}
		f.checkFields(field, 5)
	}
}

// checkFooter checks the metadata at the end of a file in the IPC file format.
func checkFooter(f io.ReaderAt, size int64) error {
	trailer := make([]byte, 4+len(arrowMagic))
	if _, err := f.ReadAt(trailer, size-int64(len(trailer))); err != nil {
		return fmt.Errorf("its end cannot be read: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(trailer))
	if n > size-int64(len(trailer)) {
		return fmt.Errorf("it claims a footer of %d bytes, the file has %d", n, size)
	}
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, size-int64(len(trailer))-n); err != nil {
		return fmt.Errorf("its footer cannot be read: %w", err)
	}
	footer := newFlatbuffer(buf)
	root := footer.target(0)
	if at := footer.slot(root, 1); at > 0 {
		footer.checkSchema(footer.target(at))
	}
	footer.vector(root, 4) // custom metadata
	return nil
}

// checkStream checks the first message of the IPC stream format.
func checkStream(f io.ReaderAt, size int64) error {
	var head [8]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return fmt.Errorf("its start cannot be read: %w", err)
	}
	n, at := int64(binary.LittleEndian.Uint32(head[:])), int64(4)
	if n == arrowContinuation {
		n, at = int64(binary.LittleEndian.Uint32(head[4:])), 8
	}
	if n > size-at {
		return fmt.Errorf("it claims a message of %d bytes, the file has %d", n, size)
	}
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, at); err != nil {
		return fmt.Errorf("its first message cannot be read: %w", err)
	}
	checkMessage(buf)
	return nil
}

const (
	arrowContinuation = 0xffffffff // begins a message; absent before version 0.15
	schemaMessage     = 1
	dictionaryMessage = 2
)

// checkMessage checks the metadata of a message. It returns its kind and the length of its body.
func checkMessage(buf []byte) (kind byte, body int64) {
	message := newFlatbuffer(buf)
	root := message.target(0)
	if at := message.slot(root, 1); at > 0 {
		kind = buf[at]
	}
	if at := message.slot(root, 2); kind == schemaMessage && at > 0 {
		message.checkSchema(message.target(at))
	}
	if at := message.slot(root, 3); at > 0 {
		body = int64(binary.LittleEndian.Uint64(buf[at:]))
	}
	message.vector(root, 4) // custom metadata
	return kind, body
}
