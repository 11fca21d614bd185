package hdf5

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// magicText begins a file, or follows a user block of 512, 1024, ... bytes.
const magicText = "\x89HDF\r\n\x1a\n"

// undefined is the address of something that does not exist.
const undefined = ^uint64(0)

// file is an open file and the sizes of the numbers in it.
type file struct {
	r       io.ReaderAt
	size    int64
	base    uint64 // added to all addresses
	offsets int    // bytes of an address
	lengths int    // bytes of a length
	budget  int64  // bytes of structure that may still be read
}

// Read lists the numeric datasets of a file of size bytes, by paths such as "model_weights/dense/kernel". Damage
// is an error that wraps tensorfile.ErrFormat.
func Read(r io.ReaderAt, size int64) ([]tensorfile.Entry, error) {
	f := &file{r: r, size: size, offsets: 8, lengths: 8, budget: 16*size + 1<<16}
	root, err := f.superblock()
	if err != nil {
		return nil, err
	}
	w := walk{file: f}
	if err := w.object(root, "", 0); err != nil {
		return nil, err
	}
	return w.entries, nil
}

// Is reports whether a file of size bytes has a superblock.
func Is(r io.ReaderAt, size int64) bool { return begin(r, size) >= 0 }

// begin returns the position of the superblock, -1 if there is none.
func begin(r io.ReaderAt, size int64) int64 {
	for at := int64(0); at < size; at = max(512, 2*at) {
		var magic [8]byte
		if tensorfile.ReadFull(r, magic[:], at) != nil {
			return -1
		}
		if string(magic[:]) == magicText {
			return at
		}
	}
	return -1
}

// superblock reads the beginning of the file and returns the address of the root group.
func (f *file) superblock() (root uint64, err error) {
	at := begin(f.r, f.size)
	if at < 0 {
		return 0, tensorfile.Errorf("no superblock")
	}
	head, err := f.read(uint64(at), 16)
	if err != nil {
		return 0, err
	}
	var skip int // bytes before the addresses
	switch version := head.b[8]; version {
	case 0, 1:
		f.offsets, f.lengths = int(head.b[13]), int(head.b[14])
		skip = 24 + 4*int(version)
	case 2, 3:
		f.offsets, f.lengths = int(head.b[9]), int(head.b[10])
		skip = 12
	default:
		return 0, tensorfile.Errorf("version %d of the superblock, expected 0 to 3", version)
	}
	if !isWord(f.offsets) || !isWord(f.lengths) {
		return 0, tensorfile.Errorf("addresses of %d bytes and lengths of %d, expected 2, 4 or 8", f.offsets, f.lengths)
	}
	c, err := f.read(uint64(at)+uint64(skip), 6*f.offsets)
	if err != nil {
		return 0, err
	}
	base := c.address()
	c.skip(2 * f.offsets) // free space or extension, end of file
	if skip > 12 {
		c.skip(2 * f.offsets) // driver information, link name of the root
	}
	root = c.address()
	if root == undefined || base > uint64(f.size) {
		return 0, tensorfile.Errorf("no root group")
	}
	f.base = base
	return root, c.err
}

func isWord(n int) bool { return n == 2 || n == 4 || n == 8 }

// read reads n bytes of structure at an address.
func (f *file) read(address uint64, n int) (*cursor, error) {
	at := f.base + address
	if n < 0 || at < address || at > uint64(f.size) || uint64(n) > uint64(f.size)-at {
		return nil, tensorfile.Errorf("%d bytes at address %d of a file of %d bytes", n, address, f.size)
	}
	if f.budget -= int64(n) + 16; f.budget < 0 {
		return nil, tensorfile.Errorf("the structures of the file lead in circles")
	}
	b := make([]byte, n)
	if err := tensorfile.ReadFull(f.r, b, int64(at)); err != nil {
		return nil, err
	}
	return &cursor{f: f, b: b}, nil
}

// cursor reads numbers from bytes. Its first error sticks; after it, all numbers are zero.
type cursor struct {
	f   *file
	b   []byte
	err error
}

// next returns the next n bytes, nil beyond the end.
func (c *cursor) next(n int) []byte {
	if c.err != nil || n < 0 || n > len(c.b) {
		if c.err == nil {
			c.err = tensorfile.Errorf("a structure ends %d bytes too early", n-len(c.b))
		}
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) skip(n int) { c.next(n) }

// number reads a little-endian number of n bytes.
func (c *cursor) number(n int) uint64 {
	var word [8]byte
	copy(word[:], c.next(n))
	return binary.LittleEndian.Uint64(word[:])
}

func (c *cursor) length() uint64 { return c.number(c.f.lengths) }

// address reads an address; all bits set means undefined.
func (c *cursor) address() uint64 {
	b := c.next(c.f.offsets)
	if len(b) > 0 && len(bytes.TrimLeft(b, "\xff")) == 0 {
		return undefined
	}
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// expect reads a signature.
func (c *cursor) expect(signature string) {
	if got := c.next(len(signature)); c.err == nil && string(got) != signature {
		c.err = tensorfile.Errorf("expected the signature %q, got %q", signature, got)
	}
}
