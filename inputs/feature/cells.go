package feature

import (
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// cells are the values of a raw feature, views of the record's memory.
type cells struct {
	key     string
	rows    int
	width   int     // of a dense feature: values per row
	offsets []int32 // of a ragged feature: row i has values offsets[i] to offsets[i+1]-1; nil: dense
	elems   arrow.Array
	count   int
	missing []bool // for each value; nil: there are no nulls

	wide   []int64   // memory of ints, if they are not the record's,
	narrow []float32 // of floats,
	from   []int32   // and of offsets
}

// newCells returns the values of an array. A null row of a ragged feature has no values.
func newCells(key string, arr arrow.Array) (*cells, error) {
	c := &cells{}
	return c, c.set(key, arr)
}

// set sets c to the values of an array. It reuses c's memory.
func (c *cells) set(key string, arr arrow.Array) error {
	*c = cells{key: key, rows: arr.Len(), width: 1, elems: arr, count: arr.Len(), wide: c.wide, narrow: c.narrow, from: c.from}
	switch a := arr.(type) {
	case *array.FixedSizeList:
		c.width = int(a.DataType().(*arrow.FixedSizeListType).Len())
		c.count = c.rows * c.width
		start := int64(a.Data().Offset() * c.width)
		c.elems = array.NewSlice(a.ListValues(), start, start+int64(c.count))
	case *array.List:
		if err := c.readList(a); err != nil {
			return err
		}
	}
	c.readNulls(arr)
	return nil
}

func (c *cells) readList(a *array.List) error {
	c.from = sized(c.from, c.rows+1)
	c.offsets = c.from
	if c.rows == 0 {
		c.offsets[0] = 0
		c.elems, c.count = array.NewSlice(a.ListValues(), 0, 0), 0
		return nil
	}
	raw := a.Offsets()[a.Data().Offset():][:c.rows+1]
	for i, o := range raw {
		c.offsets[i] = o - raw[0]
		if i > 0 && o < raw[i-1] {
			return fmt.Errorf("feature %q: offsets of a list decrease at row %d", c.key, i-1)
		}
	}
	c.elems = array.NewSlice(a.ListValues(), int64(raw[0]), int64(raw[c.rows]))
	c.count = int(c.offsets[c.rows])
	return nil
}

// readNulls marks missing values.
func (c *cells) readNulls(arr arrow.Array) {
	if c.elems.NullN() == 0 && (arr == c.elems || arr.NullN() == 0 || c.offsets != nil) {
		return
	}
	c.missing = make([]bool, c.count)
	for i := range c.missing {
		c.missing[i] = c.elems.IsNull(i)
	}
	if arr == c.elems || c.offsets != nil {
		return
	}
	for row := range c.rows {
		for i := row * c.width; arr.IsNull(row) && i < (row+1)*c.width; i++ {
			c.missing[i] = true
		}
	}
}

// span returns the range of a row's values.
func (c *cells) span(row int) (from, to int) {
	if c.offsets == nil {
		return row * c.width, (row + 1) * c.width
	}
	return int(c.offsets[row]), int(c.offsets[row+1])
}

// texts are strings: string i is data[at[i]:at[i+1]].
type texts struct {
	data []byte
	at   []int32
}

func (t texts) value(i int) []byte { return t.data[t.at[i]:t.at[i+1]] }

// anyEmpty reports whether any string is empty.
func (t texts) anyEmpty() bool {
	for i, end := range t.at[1:] {
		if end == t.at[i] {
			return true
		}
	}
	return false
}

// texts returns the values of a feature of strings.
func (c *cells) texts() (texts, error) {
	if id := c.elems.DataType().ID(); id != arrow.STRING && id != arrow.BINARY {
		return texts{}, fmt.Errorf("feature %q: expected strings, got Arrow type %s", c.key, c.elems.DataType())
	}
	if c.count == 0 {
		return texts{at: []int32{0}}, nil
	}
	d := c.elems.Data()
	t := texts{at: arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():][:c.count+1]}
	if d.Buffers()[2] != nil {
		t.data = d.Buffers()[2].Bytes()
	}
	return t, nil
}

// ints returns the values of a feature of integers. The result may be the
// record's memory.
func (c *cells) ints() ([]int64, error) {
	switch a := c.elems.(type) {
	case *array.Int64:
		return a.Int64Values(), nil
	case *array.Int32:
		c.wide = convertInto(c.wide, a.Int32Values())
	case *array.Int16:
		c.wide = convertInto(c.wide, a.Int16Values())
	case *array.Int8:
		c.wide = convertInto(c.wide, a.Int8Values())
	case *array.Uint32:
		c.wide = convertInto(c.wide, a.Uint32Values())
	case *array.Uint16:
		c.wide = convertInto(c.wide, a.Uint16Values())
	case *array.Uint8:
		c.wide = convertInto(c.wide, a.Uint8Values())
	case *array.Uint64:
		for i, v := range a.Uint64Values() {
			if v > math.MaxInt64 {
				return nil, fmt.Errorf("feature %q: value %d (number %d of its batch) does not fit int64: read it as a string", c.key, v, i)
			}
		}
		c.wide = convertInto(c.wide, a.Uint64Values())
	default:
		return nil, fmt.Errorf("feature %q: expected integers, got Arrow type %s", c.key, c.elems.DataType())
	}
	return c.wide, nil
}

// floats returns the values of a feature of numbers. The result may be the
// record's memory.
func (c *cells) floats() ([]float32, error) {
	switch a := c.elems.(type) {
	case *array.Float32:
		return a.Float32Values(), nil
	case *array.Float64:
		c.narrow = convertInto(c.narrow, a.Float64Values())
	case *array.Uint64:
		c.narrow = convertInto(c.narrow, a.Uint64Values())
	case *array.Boolean:
		c.narrow = sized(c.narrow, c.count)
		for i := range c.narrow {
			c.narrow[i] = 0
			if a.Value(i) {
				c.narrow[i] = 1
			}
		}
	case *array.Int64:
		c.narrow = convertInto(c.narrow, a.Int64Values())
	case *array.Int32:
		c.narrow = convertInto(c.narrow, a.Int32Values())
	case *array.Int16:
		c.narrow = convertInto(c.narrow, a.Int16Values())
	case *array.Int8:
		c.narrow = convertInto(c.narrow, a.Int8Values())
	case *array.Uint32:
		c.narrow = convertInto(c.narrow, a.Uint32Values())
	case *array.Uint16:
		c.narrow = convertInto(c.narrow, a.Uint16Values())
	case *array.Uint8:
		c.narrow = convertInto(c.narrow, a.Uint8Values())
	default:
		return nil, fmt.Errorf("feature %q: expected numbers, got Arrow type %s", c.key, c.elems.DataType())
	}
	return c.narrow, nil
}

type real interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func convert[D, S real](src []S) []D { return convertInto[D](nil, src) }

// convertInto is convert, using dst's memory if it is large enough.
func convertInto[D, S real](dst []D, src []S) []D {
	out := sized(dst, len(src))
	for i, v := range src {
		out[i] = D(v)
	}
	return out
}

// show formats value i for a message.
func (c *cells) show(i int) string {
	if i < 0 || i >= c.count {
		return ""
	}
	if c.elems.IsNull(i) {
		return "null"
	}
	if t, err := c.texts(); err == nil {
		v := t.value(i)
		if len(v) > 100 {
			return strconv.Quote(string(v[:100])) + fmt.Sprintf("... (%d bytes)", len(v))
		}
		return strconv.Quote(string(v))
	}
	return c.elems.ValueStr(i)
}
