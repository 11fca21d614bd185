package ps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// message is what a header holds. wire names its fields in order, once, for
// both directions; writing does not change them.
type message interface{ wire(c *coder) }

// coder writes or reads fields: varints (zigzag for signed numbers), 8 bytes
// for floats, lengths before strings and lists. Its first error sticks.
type coder struct {
	b       []byte
	reading bool
	err     error
}

var errShort = errors.New("the message ends too early")

// encode returns a message's bytes.
func encode(m message) []byte {
	c := &coder{}
	m.wire(c)
	return c.b
}

// decode reads a message that fills b.
func decode(b []byte, m message) error {
	c := &coder{b: b, reading: true}
	m.wire(c)
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("%d bytes too many", len(c.b))
	}
	if c.err != nil {
		return fmt.Errorf("malformed %T: %w", m, c.err)
	}
	return nil
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *coder) uint64(v *uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	x, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail(errShort)
		return
	}
	*v, c.b = x, c.b[n:]
}

func (c *coder) int64(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	c.uint64(&u)
	if c.reading {
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

func (c *coder) int(v *int) {
	x := int64(*v)
	c.int64(&x)
	if c.reading {
		*v = int(x)
	}
}

func (c *coder) bool(v *bool) {
	u := uint64(0)
	if *v {
		u = 1
	}
	c.uint64(&u)
	if !c.reading {
		return
	}
	if u > 1 {
		c.fail(fmt.Errorf("expected 0 or 1, got %d", u))
	}
	*v = u == 1
}

func (c *coder) float64(v *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*v))
		return
	}
	if len(c.b) < 8 {
		c.fail(errShort)
		return
	}
	*v, c.b = math.Float64frombits(binary.LittleEndian.Uint64(c.b)), c.b[8:]
}

func (c *coder) bytes(v *[]byte) {
	n := uint64(len(*v))
	c.uint64(&n)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	if n > uint64(len(c.b)) {
		c.fail(errShort)
		return
	}
	*v, c.b = append([]byte(nil), c.b[:n]...), c.b[n:]
}

func (c *coder) string(v *string) {
	b := []byte(*v)
	c.bytes(&b)
	if c.reading {
		*v = string(b)
	}
}

// list codes the elements of a list, each of which takes a byte or more.
func list[T any](c *coder, v *[]T, element func(*T)) {
	n := uint64(len(*v))
	c.uint64(&n)
	if c.reading {
		if n > uint64(len(c.b)) {
			c.fail(errShort)
			return
		}
		*v = make([]T, n)
	}
	for i := range *v {
		if element(&(*v)[i]); c.err != nil {
			return
		}
	}
}
