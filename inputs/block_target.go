package inputs

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/format/delimited"
	"github.com/goestimator/goestimator/tensor"
)

// blockTarget is a column of a block that is read value by value.
type blockTarget struct {
	textField
	dtype  tensor.DType
	direct bool // a cell that begins with a number has that value
	ids    *vocabulary
	point  byte
}

func newBlockTarget(field textField, dtype tensor.DType) blockTarget {
	t := blockTarget{textField: field, dtype: dtype, point: '.'}
	if len(field.spec.Vocabulary) > 0 {
		t.ids = newVocabulary(field.spec)
	}
	return t
}

// knows reports whether a cell is a word of the column's vocabulary.
func (t *blockTarget) knows(cell []byte) bool {
	if t.ids == nil {
		return false
	}
	_, known := t.ids.ids[string(cell)]
	return known
}

// number reads the number at byte at of text into the column, and returns the position after it. ok is false if the cell has to be
// read by put.
func (t *blockTarget) number(c *blockColumn, text []byte, at int) (next int, ok bool) {
	switch t.dtype {
	case tensor.Float32:
		var v float32
		if v, next, ok = delimited.Float32(text, at, t.point); ok {
			c.float32s[c.n] = v
		}
	case tensor.Float64:
		var v float64
		if v, next, ok = delimited.Float64(text, at, t.point); ok {
			c.float64s[c.n] = v
		}
	case tensor.Int64:
		var v int64
		if v, next, ok = delimited.Int(text, at); ok {
			c.int64s[c.n] = v
		}
	case tensor.Int32:
		var v int64
		if v, next, ok = delimited.Int(text, at); ok && v == int64(int32(v)) {
			c.int32s[c.n] = int32(v)
		} else {
			ok = false
		}
	}
	return next, ok
}

// put adds the value of a cell to a column. It returns false if the cell has no valid value.
func (t *blockTarget) put(c *blockColumn, cell []byte) bool {
	if t.ids != nil {
		id, ok := t.ids.ids[string(cell)]
		switch {
		case ok:
		case t.ids.strict:
			var err error
			if id, err = t.ids.id(string(cell)); err != nil {
				return false
			}
		default:
			id = -1
		}
		c.int64s[c.n] = id
		c.n++
		return true
	}
	if t.dtype == tensor.String {
		c.string(cell)
		return true
	}
	if next, ok := t.number(c, cell, 0); ok && next == len(cell) {
		c.n++
		return true
	}
	text := string(cell)
	if t.point == ',' {
		var err error
		if text, err = withoutDecimalComma(text); err != nil {
			return false
		}
	}
	return t.parse(c, text)
}

// parse adds the value of a cell of a number or a bool. It accepts the same texts as plainWriter's writers.
func (t *blockTarget) parse(c *blockColumn, text string) bool {
	var err error
	switch t.dtype {
	case tensor.Float32:
		var v float64
		v, err = strconv.ParseFloat(text, 32)
		c.float32s[c.n] = float32(v)
	case tensor.Float64:
		c.float64s[c.n], err = strconv.ParseFloat(text, 64)
	case tensor.Int64:
		c.int64s[c.n], err = strconv.ParseInt(text, 10, 64)
	case tensor.Int32:
		var v int64
		v, err = strconv.ParseInt(text, 10, 32)
		c.int32s[c.n] = int32(v)
	case tensor.Uint8:
		var v uint64
		v, err = strconv.ParseUint(text, 10, 8)
		c.bytes[c.n] = byte(v)
	default:
		var v bool
		if v, err = strconv.ParseBool(text); v {
			c.bytes[c.n>>3] |= 1 << (c.n & 7)
		}
	}
	c.n++
	return err == nil
}
