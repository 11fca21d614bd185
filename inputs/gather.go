package inputs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// span is a run of consecutive rows of one of several chunks.
type span struct{ chunk, start, n int }

// allRows returns the spans of all rows of records.
func allRows(recs []arrow.Record) []span {
	spans := make([]span, len(recs))
	for i, r := range recs {
		spans[i] = span{i, 0, int(r.NumRows())}
	}
	return spans
}

// appendSpan appends a run, or extends the previous one if s continues it.
func appendSpan(spans []span, s span) []span {
	if k := len(spans) - 1; k >= 0 && spans[k].chunk == s.chunk && spans[k].start+spans[k].n == s.start {
		spans[k].n += s.n
		return spans
	}
	return append(spans, s)
}

// sharedValues is the least number of values in a record whose columns are gathered by several goroutines.
const sharedValues = 1 << 16

// gatherRecord copies rows of several records of one schema into one record.
func gatherRecord(mem memory.Allocator, schema *arrow.Schema, recs []arrow.Record, spans []span) (arrow.Record, error) {
	recs, spans = usedOnly(recs, spans)
	rows := 0
	for _, s := range spans {
		rows += s.n
	}
	cols := make([]arrow.Array, schema.NumFields())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	moves := movesOf(recs, spans, rows)
	column := func(i int) error {
		chunks := make([]arrow.ArrayData, len(recs))
		for k, r := range recs {
			chunks[k] = r.Column(i).Data()
		}
		g := gatherer{mem: mem, chunks: chunks, spans: spans, n: rows, moves: moves}
		d, err := g.data(schema.Field(i).Type)
		if err != nil {
			return fmt.Errorf("column %q: %w", schema.Field(i).Name, err)
		}
		cols[i] = array.MakeFromData(d)
		d.Release()
		return nil
	}
	if err := forColumns(len(cols), rows, column); err != nil {
		return nil, err
	}
	return array.NewRecord(schema, cols, int64(rows)), nil
}

// gatherRecords is gatherRecord for any number of rows: they are copied into several records where one could not hold their texts.
func gatherRecords(mem memory.Allocator, schema *arrow.Schema, recs []arrow.Record, spans []span) ([]arrow.Record, error) {
	rec, err := gatherRecord(mem, schema, recs, spans)
	if err == nil {
		return []arrow.Record{rec}, nil
	}
	if !errors.Is(err, errLongColumn) {
		return nil, err
	}
	front, back := halves(spans)
	if front == nil {
		return nil, err
	}
	first, err := gatherRecords(mem, schema, recs, front)
	if err != nil {
		return nil, err
	}
	rest, err := gatherRecords(mem, schema, recs, back)
	if err != nil {
		releaseAll(first)
		return nil, err
	}
	return append(first, rest...), nil
}

// halves divides spans into two parts; front is nil if they are one row.
func halves(spans []span) (front, back []span) {
	if k := len(spans) / 2; k > 0 {
		return spans[:k], spans[k:]
	}
	s, n := spans[0], spans[0].n/2
	if n == 0 {
		return nil, spans
	}
	return []span{{s.chunk, s.start, n}}, []span{{s.chunk, s.start + n, s.n - n}}
}

// forColumns calls column n times, in parallel if there are many values.
func forColumns(n, rows int, column func(i int) error) error {
	workers := 1
	if n*rows >= sharedValues {
		workers = runtime.GOMAXPROCS(0)
	}
	return severally(n, workers, column)
}

// usedOnly leaves out records without spans: a batch takes rows from few of a shuffle's many records.
func usedOnly(recs []arrow.Record, spans []span) ([]arrow.Record, []span) {
	if len(recs) < 2 {
		return recs, spans
	}
	at := make([]int32, len(recs)) // among used, from 1
	used := make([]arrow.Record, 0, min(len(recs), len(spans)+1))
	out := make([]span, len(spans))
	for i, s := range spans {
		if at[s.chunk] == 0 {
			used = append(used, recs[s.chunk])
			at[s.chunk] = int32(len(used))
		}
		s.chunk = int(at[s.chunk]) - 1
		out[i] = s
	}
	return used, out
}

// concat returns one record of all rows of recs, and releases recs. It copies
// unless there is only one.
func concat(mem memory.Allocator, schema *arrow.Schema, recs []arrow.Record) (arrow.Record, error) {
	if len(recs) == 1 {
		return recs[0], nil
	}
	spans := allRows(recs)
	defer releaseAll(recs)
	return gatherRecord(mem, schema, recs, spans)
}

func releaseAll(recs []arrow.Record) {
	for _, r := range recs {
		r.Release()
	}
}

// gatherer copies spans of the arrays of one column.
type gatherer struct {
	mem    memory.Allocator
	chunks []arrow.ArrayData
	spans  []span
	n      int // rows in all spans
	moves  []move
}

func gatherData(mem memory.Allocator, dt arrow.DataType, chunks []arrow.ArrayData, spans []span) (arrow.ArrayData, error) {
	g := gatherer{mem: mem, chunks: chunks, spans: spans}
	for _, s := range spans {
		g.n += s.n
	}
	return g.data(dt)
}

func (g *gatherer) data(dt arrow.DataType) (arrow.ArrayData, error) {
	valid, nulls := g.validity()
	defer release(valid)
	switch t := dt.(type) {
	case *arrow.BooleanType:
		return g.finish(dt, nulls, nil, valid, g.bits(1, bitmapAt)), nil
	case *arrow.BinaryType, *arrow.StringType:
		offsets, data, err := g.binary()
		if err != nil {
			return nil, err
		}
		return g.finish(dt, nulls, nil, valid, offsets, data), nil
	case *arrow.FixedSizeListType:
		children, err := gatherData(g.mem, t.Elem(), g.children(), g.fixedSpans(int(t.Len())))
		if err != nil {
			return nil, err
		}
		return g.finish(dt, nulls, children, valid), nil
	case *arrow.ListType:
		return g.list(t, valid, nulls)
	case arrow.FixedWidthDataType:
		if t.BitWidth()%8 == 0 && t.ID() != arrow.DICTIONARY {
			return g.finish(dt, nulls, nil, valid, g.fixed(t.BitWidth()/8)), nil
		}
	}
	return nil, fmt.Errorf("rows of Arrow type %s cannot be copied", dt)
}

// finish makes the array's data. It takes over all buffers but the validity bitmap.
func (g *gatherer) finish(dt arrow.DataType, nulls int, child arrow.ArrayData, buffers ...*memory.Buffer) arrow.ArrayData {
	var children []arrow.ArrayData
	if child != nil {
		children = []arrow.ArrayData{child}
		defer child.Release()
	}
	d := array.NewData(dt, g.n, buffers, children, nulls, 0)
	for _, b := range buffers[1:] {
		release(b)
	}
	return d
}

func release(b *memory.Buffer) {
	if b != nil {
		b.Release()
	}
}

func newBuffer(mem memory.Allocator, size int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(size)
	return b
}

// validity returns the validity bitmap, nil if no row is null.
func (g *gatherer) validity() (*memory.Buffer, int) {
	if !slices.ContainsFunc(g.chunks, hasNulls) {
		return nil, 0
	}
	b := g.bits(0, func(d arrow.ArrayData, buffer, i int) bool { return !hasNulls(d) || bitmapAt(d, buffer, i) })
	return b, g.n - bitutil.CountSetBits(b.Bytes(), 0, g.n)
}

func hasNulls(d arrow.ArrayData) bool { return d.NullN() != 0 && d.Buffers()[0] != nil }

func bitmapAt(d arrow.ArrayData, buffer, i int) bool {
	return bitutil.BitIsSet(d.Buffers()[buffer].Bytes(), d.Offset()+i)
}

func (g *gatherer) bits(buffer int, at func(d arrow.ArrayData, buffer, i int) bool) *memory.Buffer {
	out := newBuffer(g.mem, int(bitutil.BytesForBits(int64(g.n))))
	dst := out.Bytes()
	clear(dst)
	k := 0
	for _, s := range g.spans {
		for i := s.start; i < s.start+s.n; i++ {
			if at(g.chunks[s.chunk], buffer, i) {
				bitutil.SetBit(dst, k)
			}
			k++
		}
	}
	return out
}

func (g *gatherer) fixed(width int) *memory.Buffer {
	out := newBuffer(g.mem, g.n*width)
	values := make([][]byte, len(g.chunks))
	for k, d := range g.chunks {
		if b := d.Buffers()[1]; b != nil && d.Len() > 0 { // an empty array may have no buffer
			values[k] = b.Bytes()[d.Offset()*width:]
		}
	}
	dst := out.Bytes()
	switch {
	case width == 4 && g.moves != nil:
		scatter(arrow.Uint32Traits.CastFromBytes(dst), values, arrow.Uint32Traits.CastFromBytes, g.moves)
		return out
	case width == 8 && g.moves != nil:
		scatter(arrow.Uint64Traits.CastFromBytes(dst), values, arrow.Uint64Traits.CastFromBytes, g.moves)
		return out
	}
	for _, s := range g.spans {
		src := values[s.chunk]
		switch { // avoids a call for single rows
		case s.n == 1 && width == 4:
			binary.NativeEndian.PutUint32(dst, binary.NativeEndian.Uint32(src[4*s.start:]))
			dst = dst[4:]
		case s.n == 1 && width == 8:
			binary.NativeEndian.PutUint64(dst, binary.NativeEndian.Uint64(src[8*s.start:]))
			dst = dst[8:]
		case s.n > 0:
			dst = dst[copy(dst, src[s.start*width:(s.start+s.n)*width]):]
		}
	}
	return out
}

// children returns the only child of every chunk.
func (g *gatherer) children() []arrow.ArrayData {
	out := make([]arrow.ArrayData, len(g.chunks))
	for i, d := range g.chunks {
		out[i] = d.Children()[0]
	}
	return out
}

// fixedSpans returns the spans of elements in fixed-size lists.
func (g *gatherer) fixedSpans(size int) []span {
	out := make([]span, len(g.spans))
	for i, s := range g.spans {
		out[i] = span{s.chunk, (g.chunks[s.chunk].Offset() + s.start) * size, s.n * size}
	}
	return out
}

func (g *gatherer) list(t *arrow.ListType, valid *memory.Buffer, nulls int) (arrow.ArrayData, error) {
	offsets, spans, err := g.offsets()
	if err != nil {
		return nil, err
	}
	child, err := gatherData(g.mem, t.Elem(), g.children(), spans)
	if err != nil {
		offsets.Release()
		return nil, err
	}
	return g.finish(t, nulls, child, valid, offsets), nil
}

func (g *gatherer) binary() (offsets, data *memory.Buffer, err error) {
	offsets, spans, err := g.offsets()
	if err != nil {
		return nil, nil, err
	}
	total := 0
	for _, s := range spans {
		total += s.n
	}
	data = newBuffer(g.mem, total)
	dst := data.Bytes()
	for _, s := range spans {
		if s.n > 0 {
			dst = dst[copy(dst, g.chunks[s.chunk].Buffers()[2].Bytes()[s.start:s.start+s.n]):]
		}
	}
	return offsets, data, nil
}

// mostInColumn is the most bytes of texts, or values of lists, in a column of a record. It is replaced by tests.
var mostInColumn = math.MaxInt32

var errLongColumn = errors.New("a batch would hold more than 2 GiB in one column: use smaller batches")

// offsets returns the 32-bit offsets of variable-length rows, rebased to 0, and the
// spans of their elements.
func (g *gatherer) offsets() (*memory.Buffer, []span, error) {
	out := newBuffer(g.mem, 4*(g.n+1))
	dst := out.Bytes()
	binary.LittleEndian.PutUint32(dst, 0)
	var spans []span
	total, k := 0, 1
	for _, s := range g.spans {
		d := g.chunks[s.chunk]
		from, to := offsetAt(d, s.start), offsetAt(d, s.start+s.n)
		if to-from > mostInColumn-total {
			out.Release()
			return nil, nil, errLongColumn
		}
		spans = appendSpan(spans, span{s.chunk, from, to - from})
		for i := s.start + 1; i < s.start+s.n; i++ {
			binary.LittleEndian.PutUint32(dst[4*k:], uint32(total+offsetAt(d, i)-from))
			k++
		}
		if total += to - from; s.n > 0 {
			binary.LittleEndian.PutUint32(dst[4*k:], uint32(total))
			k++
		}
	}
	return out, spans, nil
}

// offsetAt returns the offset before row i of a variable-length array.
func offsetAt(d arrow.ArrayData, i int) int {
	b := d.Buffers()[1]
	if b == nil || b.Len() == 0 { // an empty array may have no offsets
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(b.Bytes()[4*(d.Offset()+i):])))
}
