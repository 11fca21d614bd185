package inputs

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/format/delimited"
	"github.com/goestimator/goestimator/tensor"
)

// csvPlan says what becomes of each cell of a row, for files that can be read in blocks.
type csvPlan struct {
	comma, comment byte // comment 0: none
	targets        []csvTarget
	columns        []int // by cell: its target, -1 for a cell that is not read
	missing        map[string]bool
	stop           [256]bool // bytes that end a plain cell, or are wrong in it
}

// csvTarget is one column that is read.
type csvTarget struct {
	textField
	dtype  tensor.DType
	direct bool // a number that begins a cell is its value
	ids    *vocabulary
	point  byte
}

// plan returns how to read the file that r has opened, nil where it has to be read row by row: the blocks know separators of one byte, and each cell
// belongs to one column.
func (r *csvReader) plan() *csvPlan {
	f := r.format
	const numeric = "0123456789+-.eE"
	oneByte := func(c rune) bool { return c < 0x80 && c != ' ' && c != '\r' }
	if f.comma == 0 || !oneByte(f.comma) || !oneByte(f.comment) || isOneOf(f.comma, numeric) {
		return nil
	}
	p := &csvPlan{comma: byte(f.comma), comment: byte(f.comment), missing: make(map[string]bool, len(f.missing)), columns: make([]int, r.cells)}
	direct := true
	for _, m := range f.missing {
		p.missing[m] = true
		if m != "" && (string(m[0]) == f.opts.Decimal || isOneOf(rune(m[0]), numeric)) {
			direct = false // a number may mean that there is none
		}
	}
	for k := range p.columns {
		p.columns[k] = -1
	}
	for i, field := range f.fields {
		p.targets = append(p.targets, f.target(i, field, direct))
		for k := r.at[i]; k < r.at[i]+field.size; k++ {
			if k < 0 || k >= len(p.columns) || p.columns[k] >= 0 {
				return nil
			}
			p.columns[k] = i
		}
	}
	for _, c := range []byte{p.comma, '\n', '"'} {
		p.stop[c] = true
	}
	return p
}

func isOneOf(c rune, chars string) bool {
	for _, x := range chars {
		if c == x {
			return true
		}
	}
	return false
}

func (f *csvFormat) target(i int, field textField, direct bool) csvTarget {
	t := csvTarget{textField: field, dtype: f.schema.Columns()[i].DType, point: '.'}
	if len(field.spec.Vocabulary) > 0 {
		t.ids = newVocabulary(field.spec)
		return t
	}
	floats := t.dtype == tensor.Float32 || t.dtype == tensor.Float64
	if floats && f.opts.Decimal == "," {
		t.point = ','
	}
	t.direct = direct && (floats || t.dtype == tensor.Int64 || t.dtype == tensor.Int32)
	return t
}

// number reads the number at a byte of a text into the column, and returns the byte behind it. ok is false where the general way has to be
// taken.
func (t *csvTarget) number(c *csvColumn, text []byte, at int) (next int, ok bool) {
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

// put adds the value of a cell to a column. It is false for a cell that has no value of the column.
func (t *csvTarget) put(c *csvColumn, cell []byte) bool {
	if t.ids != nil {
		id, ok := t.ids.ids[string(cell)]
		if !ok && t.ids.strict {
			return false
		}
		if !ok {
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

// parse adds the value of a cell of a number or a bool; it takes the texts that plainWriter's writers do.
func (t *csvTarget) parse(c *csvColumn, text string) bool {
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
