package inputs

import "github.com/goestimator/goestimator/tensor"

// csvPlan says where each cell of a row goes, for files that can be read in blocks.
type csvPlan struct {
	comma, comment byte // comment 0: none
	targets        []blockTarget
	columns        []int // target of each cell, -1 for a cell that is not read
	missing        map[string]bool
	stop           [256]bool // bytes that end a plain cell, or are wrong in it
}

// plan returns how to read the file that r has opened, nil if it has to be read row by row: blocks need separators of one byte, and each
// cell must belong to at most one column.
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
			direct = false // a cell that begins with a number may mean a missing value
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

func (f *csvFormat) target(i int, field textField, direct bool) blockTarget {
	t := newBlockTarget(field, f.schema.Columns()[i].DType)
	if t.ids != nil {
		return t
	}
	floats := t.dtype == tensor.Float32 || t.dtype == tensor.Float64
	if floats && f.opts.Decimal == "," {
		t.point = ','
	}
	t.direct = direct && (floats || t.dtype == tensor.Int64 || t.dtype == tensor.Int32)
	return t
}
