package inputs

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// blockColumn is a column of a block under construction: values or, for strings, their text and offsets.
type blockColumn struct {
	n        int // elements
	buffer   *memory.Buffer
	bytes    []byte
	float32s []float32
	float64s []float64
	int64s   []int64
	int32s   []int32
	text     []byte // reused for the next block
	offsets  []int32
}

// begin makes room for most elements.
func (c *blockColumn) begin(mem memory.Allocator, dtype tensor.DType, most int) {
	c.n = 0
	if dtype == tensor.String {
		c.text, c.offsets = c.text[:0], append(c.offsets[:0], 0)
		return
	}
	size := most * dtype.Size()
	if dtype == tensor.Bool {
		size = int(bitutil.BytesForBits(int64(most)))
	}
	c.buffer = newBuffer(mem, size)
	c.bytes = c.buffer.Bytes()
	switch dtype {
	case tensor.Float32:
		c.float32s = arrow.Float32Traits.CastFromBytes(c.bytes)
	case tensor.Float64:
		c.float64s = arrow.Float64Traits.CastFromBytes(c.bytes)
	case tensor.Int64:
		c.int64s = arrow.Int64Traits.CastFromBytes(c.bytes)
	case tensor.Int32:
		c.int32s = arrow.Int32Traits.CastFromBytes(c.bytes)
	case tensor.Bool:
		clear(c.bytes)
	}
}

// putFloats writes the values of the current row, little-endian float32. It does not change n.
func (c *blockColumn) putFloats(data []byte) {
	dst := c.float32s[c.n:]
	for ; len(data) >= 4; data, dst = data[4:], dst[1:] {
		dst[0] = math.Float32frombits(binary.LittleEndian.Uint32(data))
	}
}

func (c *blockColumn) string(cell []byte) {
	c.text = append(c.text, cell...)
	c.offsets = append(c.offsets, int32(len(c.text)))
	c.n++
}

// drop frees what begin made.
func (c *blockColumn) drop() {
	if c.buffer != nil {
		c.buffer.Release()
		c.buffer = nil
	}
}

// finish returns the first rows as an array of type t, whose lists have size elements.
func (c *blockColumn) finish(mem memory.Allocator, t arrow.DataType, rows, size int) arrow.Array {
	element := t
	list, nested := t.(*arrow.FixedSizeListType)
	if nested {
		element = list.Elem()
	}
	n := rows * size
	buffers := []*memory.Buffer{nil, c.buffer}
	if c.buffer == nil {
		offsets := newBuffer(mem, 4*(n+1))
		copy(offsets.Bytes(), arrow.Int32Traits.CastToBytes(c.offsets[:n+1]))
		text := memory.NewBufferBytes([]byte{}) // not nil, even if all texts are empty
		if size := int(c.offsets[n]); size > 0 {
			text = newBuffer(mem, size)
			copy(text.Bytes(), c.text)
		}
		buffers = []*memory.Buffer{nil, offsets, text}
	}
	d := array.NewData(element, n, buffers, nil, 0, 0)
	for _, b := range buffers {
		release(b)
	}
	c.buffer = nil
	if nested {
		inner := d
		d = array.NewData(t, rows, []*memory.Buffer{nil}, []arrow.ArrayData{inner}, 0, 0)
		inner.Release()
	}
	defer d.Release()
	return array.MakeFromData(d)
}
