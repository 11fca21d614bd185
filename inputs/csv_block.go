package inputs

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// csvBlocks is a format of files that have a plan.
type csvBlocks struct {
	*csvFormat
	plan *csvPlan
}

func (f csvBlocks) openRows(ctx context.Context, name string) (carefulReader, error) {
	r, err := f.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (f csvBlocks) newParser() blockParser { return newCSVBlockParser(f.csvFormat, f.plan) }

func (f csvBlocks) leavesOut() *Damaged { return f.opts.Damaged }

// openBlocks opens a file for reading in blocks, if its format allows that.
func (f *csvFormat) openBlocks(ctx context.Context, name string) (rowReader, error) {
	probe, err := f.open(ctx, name)
	if err != nil {
		return nil, err
	}
	begin := int64(0)
	if in, ok := probe.csv.(*csv.Reader); ok {
		begin = in.InputOffset()
	}
	first, err := probe.next() // shows whether there are labels; an error will be found again
	if err == nil && probe.namesOnly(first) {
		probe.close()
		return nil, probe.unreadNames(first)
	}
	plan := probe.plan()
	if err := probe.close(); err != nil {
		return nil, err
	}
	if plan == nil {
		return f.open(ctx, name)
	}
	file, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	in := unmarked(file)
	if err := discard(in, begin); err != nil {
		file.Close()
		return nil, fileError(name, "file cannot be read to its end, it may be cut short: %w", err)
	}
	text := &csvText{in: in, comment: plan.comment, longest: f.longest}
	return newBlockFile(ctx, name, file, text, csvBlocks{f, plan}), nil
}

func discard(in io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, in, n)
	return err
}

// csvBlockParser reads blocks of whole rows. It accepts the same rows as encoding/csv, with the same cells, and stops at the first wrong
// row, which csvReader then explains.
type csvBlockParser struct {
	format  *csvFormat
	plan    *csvPlan
	columns []blockColumn
	cell    []byte // text of the last cell that held a quote or a carriage return
}

func newCSVBlockParser(f *csvFormat, p *csvPlan) *csvBlockParser {
	return &csvBlockParser{format: f, plan: p, columns: make([]blockColumn, len(p.targets))}
}

// record implements blockParser for a block that ends with a line feed.
func (p *csvBlockParser) record(block []byte) (rec arrow.Record, whole bool) {
	f := p.format
	most := min(bytes.Count(block, []byte{'\n'}), len(block)/max(len(p.plan.columns), 1)+1) // a cell takes a byte, its separator, and the last row may have too few
	for i := range p.columns {
		t := &p.plan.targets[i]
		if most > math.MaxInt32/(8*t.size) {
			return nil, false
		}
		p.columns[i].begin(f.mem, t.dtype, most*t.size)
	}
	rows, _, whole := p.walk(block, math.MaxInt64, p.row)
	if rows == 0 {
		for i := range p.columns {
			p.columns[i].drop()
		}
		return nil, whole
	}
	arrays := make([]arrow.Array, len(p.columns))
	for i := range p.columns {
		arrays[i] = p.columns[i].finish(f.mem, f.schema.Arrow().Field(i).Type, int(rows), p.plan.targets[i].size)
		defer arrays[i].Release()
	}
	return array.NewRecord(f.schema.Arrow(), arrays, rows), whole
}

// count implements blockParser.
func (p *csvBlockParser) count(block []byte, most int64) (rows int64, n int, whole bool) {
	return p.walk(block, most, p.pass)
}

// walk calls row for each row of a block; row returns the position after it.
func (p *csvBlockParser) walk(block []byte, most int64, row func(block []byte, at int) (int, bool)) (rows int64, at int, whole bool) {
	for at < len(block) && rows < most {
		switch c := block[at]; {
		case c == '\n':
			at++
			continue
		case c == '\r' && block[at+1] == '\n': // the last byte is a line feed
			at += 2
			continue
		case c == p.plan.comment && c != 0:
			at += bytes.IndexByte(block[at:], '\n') + 1
			continue
		}
		next, ok := row(block, at)
		if !ok || next-at > p.format.longest {
			return rows, at, false
		}
		at = next
		rows++
	}
	return rows, at, true
}

// pass is the row function of count.
func (p *csvBlockParser) pass(block []byte, at int) (next int, ok bool) {
	for end := false; !end; {
		if _, at, end, ok = p.next(block, at); !ok {
			return at, false
		}
	}
	return at, true
}

// row reads the row that begins at byte at.
func (p *csvBlockParser) row(block []byte, at int) (next int, ok bool) {
	last := len(p.plan.columns) - 1
	for k, column := range p.plan.columns {
		if column >= 0 && p.plan.targets[column].direct {
			c := &p.columns[column]
			first := at
			for block[first] == ' ' {
				first++
			}
			if next, ok := p.plan.targets[column].number(c, block, first); ok {
				if end, n := p.ends(block, next); n > 0 && end == (k == last) {
					c.n++
					at = next + n
					continue
				}
			}
		}
		cell, next, end, ok := p.next(block, at)
		if !ok || end != (k == last) || column >= 0 && !p.put(column, cell) {
			return at, false
		}
		at = next
	}
	return at, true
}

// ends returns the length of the separator at byte at, 0 if there is none, and whether it ends the row.
func (p *csvBlockParser) ends(block []byte, at int) (row bool, n int) {
	switch c := block[at]; {
	case c == p.plan.comma:
		return false, 1
	case c == '\n':
		return true, 1
	case c == '\r' && block[at+1] == '\n':
		return true, 2
	}
	return false, 0
}

// put adds a cell to a column.
func (p *csvBlockParser) put(column int, cell []byte) bool {
	t, c := &p.plan.targets[column], &p.columns[column]
	cell = trimmed(cell)
	absent := len(cell) == 0 || len(p.plan.missing) > 0 && p.plan.missing[string(cell)]
	if absent && !t.knows(cell) {
		return t.fallback != nil && t.put(c, []byte(*t.fallback))
	}
	return t.put(c, cell)
}

// trimmed is bytes.TrimSpace, faster for most cells.
func trimmed(cell []byte) []byte {
	if n := len(cell); n == 0 || plainEnd(cell[0]) && plainEnd(cell[n-1]) {
		return cell
	}
	return bytes.TrimSpace(cell)
}

func plainEnd(c byte) bool { return c > ' ' && c < utf8.RuneSelf }

// next returns the cell that begins at byte at, the position after its separator, and whether that ends the row.
func (p *csvBlockParser) next(block []byte, at int) (cell []byte, next int, end, ok bool) {
	first := at
	if p.plan.comma != '\t' {
		first = pastSpace(block, at)
	}
	if block[first] == '"' {
		return p.quoted(block, first+1)
	}
	i := first
	for !p.plan.stop[block[i]] {
		i++
	}
	switch block[i] {
	case '"':
		return nil, i, false, false
	case '\n':
		cell = block[first:i]
		if n := len(cell); n > 0 && cell[n-1] == '\r' {
			cell = cell[:n-1]
		}
		return cell, i + 1, true, true
	}
	return block[first:i], i + 1, false, true
}

// pastSpace returns the position of the first byte from at on that is no space, or of the line feed.
func pastSpace(block []byte, at int) int {
	for {
		c := block[at]
		if plainEnd(c) || c == '\n' {
			return at
		}
		r, n := utf8.DecodeRune(block[at:])
		if !unicode.IsSpace(r) {
			return at
		}
		at += n
	}
}

// quoted returns the cell whose content begins at byte at.
func (p *csvBlockParser) quoted(block []byte, at int) (cell []byte, next int, end, ok bool) {
	plain := true
	for first := at; ; {
		n := bytes.IndexByte(block[at:], '"')
		if n < 0 {
			return nil, at, false, false
		}
		at += n
		if block[at+1] == '"' {
			plain = false
			at += 2
			continue
		}
		row, n := p.ends(block, at+1)
		cell = block[first:at]
		if !plain || bytes.IndexByte(cell, '\r') >= 0 {
			cell = p.unquoted(cell)
		}
		return cell, at + 1 + n, row, n > 0
	}
}

// unquoted returns the text of a quoted cell: one quote for each two, and a line feed for each line end.
func (p *csvBlockParser) unquoted(raw []byte) []byte {
	p.cell = p.cell[:0]
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if i+1 < len(raw) && (c == '"' || c == '\r' && raw[i+1] == '\n') {
			i++
			c = raw[i]
		}
		p.cell = append(p.cell, c)
	}
	return p.cell
}
