package stablehlo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// malformed is the panic value for bytes that are no artifact. Read turns it into an error.
type malformed struct{ why string }

// damaged panics, which ends the read.
func damaged(format string, args ...any) { panic(malformed{fmt.Sprintf(format, args...)}) }

// cursor reads the primitives of MLIR's bytecode.
type cursor struct{ b []byte }

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		damaged("%d bytes are missing of %d", n-uint64(len(c.b)), n)
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) byte() byte { return c.take(1)[0] }

// varint reads an integer of one to nine bytes. The trailing zeros of the first byte give the number of further bytes.
func (c *cursor) varint() uint64 {
	first := c.byte()
	more := bits.TrailingZeros8(first)
	if more == 8 {
		return binary.LittleEndian.Uint64(c.take(8))
	}
	var whole [8]byte
	whole[0] = first
	copy(whole[1:], c.take(uint64(more)))
	return binary.LittleEndian.Uint64(whole[:]) >> (more + 1)
}

// signed reads an integer with its sign in the lowest bit.
func (c *cursor) signed() int64 {
	u := c.varint()
	return int64(u>>1) ^ -int64(u&1)
}

// flagged reads an integer with a flag in its lowest bit.
func (c *cursor) flagged() (uint64, bool) {
	u := c.varint()
	return u >> 1, u&1 == 1
}

// count reads the number of elements that follow. Each takes at least a byte.
func (c *cursor) count() int {
	n := c.varint()
	if n > uint64(len(c.b)) {
		damaged("%d entries in %d bytes", n, len(c.b))
	}
	return int(n)
}

// text reads bytes up to a zero.
func (c *cursor) text() string {
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		damaged("a text does not end")
	}
	s := string(c.b[:i])
	c.b = c.b[i+1:]
	return s
}

// section reads a section's kind and content.
func (c *cursor) section() (kind byte, content *cursor) {
	const aligned = 0x80
	kind = c.byte()
	size := c.varint()
	if kind&aligned != 0 {
		c.align()
	}
	return kind &^ aligned, &cursor{c.take(size)}
}

// align skips padding.
func (c *cursor) align() {
	const filler = 0xCB
	c.varint() // the alignment: the padding shows where it ends
	for len(c.b) > 0 && c.b[0] == filler {
		c.b = c.b[1:]
	}
}
