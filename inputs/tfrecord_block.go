package inputs

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/tensor"
)

// Bounds on a block of examples.
const (
	maxBlockRows  = 4096
	maxBlockTable = 8 << 20 // bytes of its columns: short examples may have many default values
)

// openRows implements blockFormat.
func (f *exampleFormat) openRows(ctx context.Context, name string) (carefulReader, error) {
	in, err := openExamples(ctx, name)
	if err != nil {
		return nil, err
	}
	return f.reader(ctx, name, in, in), nil
}

func (f *exampleFormat) leavesOut() *Damaged { return f.damaged }

func (f *exampleFormat) newParser() blockParser { return newExampleParser(f) }

// openBlocks opens a file for reading in blocks, unless an example takes too much memory.
func (f *exampleFormat) openBlocks(ctx context.Context, name string) (rowReader, error) {
	rows := f.blockRows()
	if rows == 0 {
		return f.openRows(ctx, name)
	}
	in, err := openExamples(ctx, name)
	if err != nil {
		return nil, err
	}
	return newBlockFile(ctx, name, in, &recordFrames{in: in, most: rows}, f), nil
}

// blockRows returns the most examples in a block, 0 if a single one is too large.
func (f *exampleFormat) blockRows() int {
	total := 1
	for i, field := range f.fields {
		if field.spec.Ragged {
			continue
		}
		size := max(f.schema.Columns()[i].DType.Size(), 4)
		if field.fallback != nil {
			size = max(size, len(*field.fallback)+4)
		}
		if field.size > maxBlockTable/size {
			return 0
		}
		total += size * field.size
	}
	return min(maxBlockTable/total, maxBlockRows)
}

// exampleParser reads blocks of records. It accepts the same examples as exampleReader, with the same values, and stops at the first
// wrong one, or one whose form writers do not use.
type exampleParser struct {
	format  *exampleFormat
	targets []blockTarget
	columns []blockColumn
	lists   []array.Builder // set for ragged columns
	found   []foundFeature  // in the current example, for each field
	order   exampleOrder
	forms   []orderedEntry // by field: an entry whose values have the column's memory layout; head is "" until one is seen
	values  valueBuffer
}

func newExampleParser(f *exampleFormat) *exampleParser {
	n := len(f.fields)
	p := &exampleParser{format: f, columns: make([]blockColumn, n), lists: make([]array.Builder, n), found: make([]foundFeature, n), forms: make([]orderedEntry, n)}
	for i, field := range f.fields {
		p.targets = append(p.targets, newBlockTarget(field, f.schema.Columns()[i].DType))
	}
	return p
}

// record implements blockParser.
func (p *exampleParser) record(block []byte) (arrow.Record, bool) {
	most, _, _ := eachRecord(block, math.MaxInt64, func([]byte) bool { return true })
	p.begin(int(most))
	rows, _, whole := eachRecord(block, most, p.row)
	return p.finish(int(rows)), whole
}

// count implements blockParser.
func (p *exampleParser) count(block []byte, most int64) (rows int64, n int, whole bool) {
	return eachRecord(block, most, func(record []byte) bool {
		_, ok := tfrecord.Data(record)
		return ok
	})
}

// eachRecord calls f with up to most records of a block, until it returns false. recordFrames has checked the lengths of the records.
// eachRecord returns the number of records and their bytes.
func eachRecord(block []byte, most int64, f func(record []byte) bool) (rows int64, at int, whole bool) {
	for at < len(block) && rows < most {
		n, ok := tfrecord.CheckedSize(block[at:])
		if !ok || n > int64(len(block)-at) || !f(block[at:at+int(n)]) {
			return rows, at, false
		}
		at += int(n)
		rows++
	}
	return rows, at, true
}

// begin makes room for a number of rows.
func (p *exampleParser) begin(rows int) {
	f := p.format
	for i := range p.targets {
		if t := &p.targets[i]; t.spec.Ragged {
			p.lists[i] = array.NewBuilder(f.mem, f.schema.Arrow().Field(i).Type)
		} else {
			p.columns[i].begin(f.mem, t.dtype, rows*t.size)
		}
	}
}

// finish returns the first rows, nil if there are none.
func (p *exampleParser) finish(rows int) arrow.Record {
	f := p.format
	arrays := make([]arrow.Array, len(p.targets))
	for i := range arrays {
		switch list := p.lists[i]; {
		case list != nil:
			all := list.NewArray()
			list.Release()
			arrays[i] = array.NewSlice(all, 0, int64(rows))
			all.Release()
			defer arrays[i].Release()
		case rows == 0:
			p.columns[i].drop()
		default:
			arrays[i] = p.columns[i].finish(f.mem, f.schema.Arrow().Field(i).Type, rows, p.targets[i].size)
			defer arrays[i].Release()
		}
	}
	if rows == 0 {
		return nil
	}
	return array.NewRecord(f.schema.Arrow(), arrays, int64(rows))
}

// row reads the example of a record into the columns.
func (p *exampleParser) row(record []byte) bool {
	example, ok := tfrecord.Data(record)
	if !ok || !p.find(example) {
		return false
	}
	for i := range p.found {
		if p.found[i].written {
			p.columns[i].n += p.targets[i].size
		} else if !p.value(i, example) {
			return false
		}
	}
	return true
}

// value writes the value of a field if find has not.
func (p *exampleParser) value(i int, example []byte) bool {
	if p.lists[i] != nil {
		return p.list(i, example)
	}
	return p.dense(&p.targets[i], &p.columns[i], example, &p.found[i])
}

// find finds the features of the fields in an example. It writes values that have the same layout as in earlier examples and in memory.
func (p *exampleParser) find(example []byte) bool {
	clear(p.found)
	features, ok := tfexample.ReadPlain(example)
	if !ok {
		return false
	}
	for k := 0; features.More(); k++ {
		rest := features.Rest
		at := len(example) - len(rest)
		e, i := p.order.entry(k, rest), notSought
		if e == nil {
			e, i = p.form(rest)
		}
		if e != nil {
			p.take(e, at, rest)
			features.Rest = rest[e.size:]
			continue
		}
		name, kind, list, ok := features.Next()
		if !ok {
			return false
		}
		end, values := len(example)-len(features.Rest), 0
		if data, ok := tfexample.Only(list); ok {
			values = end - len(data)
		}
		if i == notSought {
			i = p.format.names.Find(name)
		}
		if i >= 0 {
			p.found[i].set(kind, end-len(list), values, end)
		}
		floats := i >= 0 && values > 0 && kind == tfexample.Floats && p.columns[i].float32s != nil && end-values == 4*p.targets[i].size
		if learns := p.order.learns(k, values-at); learns || floats && p.forms[i].head == "" && values-at <= longestHead {
			e := orderedEntry{string(example[at:values]), end - at, end - len(list) - at, kind, i, floats}
			if learns {
				p.order.learn(e)
			}
			if floats {
				p.forms[i] = e
			}
		}
	}
	return true
}

// notSought stands for the field of a name that was not looked up; -1 is the field of a name without one.
const notSought = -2

// form returns the remembered form of the field that comes first in rest, if its entry has that form, else nil. field is -1 if the
// name belongs to no field, and notSought if the name was not read.
func (p *exampleParser) form(rest []byte) (e *orderedEntry, field int) {
	name, ok := tfexample.ShortName(rest)
	if !ok {
		return nil, notSought
	}
	i := p.format.names.Find(name)
	if i < 0 {
		return nil, i
	}
	if e := &p.forms[i]; e.head != "" && e.begins(rest) {
		return e, i
	}
	return nil, i
}

// take takes the first entry of rest, which has the form e and is at offset at in the example.
func (p *exampleParser) take(e *orderedEntry, at int, rest []byte) {
	if e.field < 0 {
		return
	}
	if e.floats {
		p.found[e.field].written = true
		p.columns[e.field].putFloats(rest[len(e.head):e.size])
		return
	}
	p.found[e.field].set(e.kind, at+e.list, at+len(e.head), at+e.size)
}

// list writes the value of a ragged column.
func (p *exampleParser) list(i int, example []byte) bool {
	x := p.found[i].in(example)
	return x.count >= 0 && p.values.write(p.targets[i].textField, p.lists[i], x) == nil
}

// dense writes the value of a column that is not ragged.
func (p *exampleParser) dense(t *blockTarget, c *blockColumn, example []byte, at *foundFeature) bool {
	if at.kind == tfexample.None {
		if t.fallback == nil {
			return false
		}
		for range t.size {
			if !t.put(c, []byte(*t.fallback)) {
				return false
			}
		}
		return true
	}
	if at.values > 0 {
		if taken, ok := putPacked(t, c, at.kind, example[at.values:at.end]); taken {
			return ok
		}
	}
	x := at.in(example)
	if x.count != t.size || x.kind == tfexample.Floats && c.float64s != nil { // a float32's text has fewer digits than a float64
		return false
	}
	if x.kind == tfexample.Floats && t.dtype != tensor.Float32 {
		return p.values.texts(x, func(cell []byte) bool { return t.put(c, []byte(t.cell(x.kind, string(cell)))) })
	}
	return p.values.texts(x, func(cell []byte) bool { return t.put(c, cell) })
}

// putPacked writes a feature whose values have the column's memory layout, or its only text. taken is false for other features.
func putPacked(t *blockTarget, c *blockColumn, kind tfexample.Kind, data []byte) (taken, ok bool) {
	switch {
	case kind == tfexample.Floats && c.float32s != nil && len(data) == 4*t.size:
		c.putFloats(data)
	case kind == tfexample.Floats && c.float64s != nil && len(data) == 4*t.size:
		for dst := c.float64s[c.n:]; len(data) > 0; data, dst = data[4:], dst[1:] {
			dst[0] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	case kind == tfexample.Ints && c.int64s != nil && t.ids == nil:
		if !tfexample.PackedInts(c.int64s[c.n:c.n+t.size], data) {
			return true, false
		}
	case kind == tfexample.Bytes && t.size == 1:
		return true, t.put(c, data)
	default:
		return false, false
	}
	c.n += t.size
	return true, true
}
