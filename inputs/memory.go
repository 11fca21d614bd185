package inputs

import (
	"context"
	"fmt"
	"sort"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// Records returns a data set of records in memory; all must have s's
// Arrow schema. It does not retain them: the caller releases them when the data
// set is no longer used.
func Records(s *Schema, recs []arrow.Record, mem memory.Allocator) (Indexed, error) {
	ix, err := indexRecords(s, recs, mem)
	if err != nil {
		return nil, err
	}
	return ix, nil
}

func indexRecords(s *Schema, recs []arrow.Record, mem memory.Allocator) (*indexedNode, error) {
	ends := make([]int64, len(recs)) // rows up to and including each record
	total := int64(0)
	for i, r := range recs {
		if !sameTypes(r.Schema(), s.Arrow()) {
			return nil, fmt.Errorf("record %d has %s, expected %s", i, r.Schema(), s.Arrow())
		}
		total += r.NumRows()
		ends[i] = total
	}
	if total == 0 {
		return nil, fmt.Errorf("%w: no record has a row", ErrEmpty)
	}
	n := &node{schema: s, mem: alloc(mem), inMemory: true, desc: fmt.Sprintf("records(%d,%s)", total, s),
		place: func(row int64) DataError { return DataError{Row: row + 1} }}
	ix := newIndexed(n, total, func(ctx context.Context, rows []int64) (arrow.Record, error) {
		spans := locate(ends, rows)
		if len(spans) == 1 {
			return sliceRecord(s.Arrow(), recs[spans[0].chunk], spans[0]), nil
		}
		return gatherRecord(memoryOf(ctx, n.mem), s.Arrow(), recs, spans)
	})
	ix.view = func(start, rows int64) arrow.Record {
		k, row := locateRow(ends, start)
		if row+rows > recs[k].NumRows() {
			return nil
		}
		return sliceRecord(s.Arrow(), recs[k], span{k, int(row), int(rows)})
	}
	return ix, nil
}

// sliceRecord returns consecutive rows of a record without a copy.
func sliceRecord(schema *arrow.Schema, rec arrow.Record, s span) arrow.Record {
	cols := make([]arrow.Array, rec.NumCols())
	for i, c := range rec.Columns() {
		cols[i] = array.NewSlice(c, int64(s.start), int64(s.start+s.n))
	}
	out := array.NewRecord(schema, cols, int64(s.n))
	for _, c := range cols {
		c.Release()
	}
	return out
}

// sameTypes reports whether two schemas have the same names and types.
func sameTypes(a, b *arrow.Schema) bool {
	if a.NumFields() != b.NumFields() {
		return false
	}
	for i, f := range a.Fields() {
		if g := b.Field(i); f.Name != g.Name || !arrow.TypeEqual(f.Type, g.Type) {
			return false
		}
	}
	return true
}

// locate finds rows in a list of records that end at the given row numbers.
func locate(ends []int64, rows []int64) []span {
	spans := make([]span, 0, len(rows))
	for _, row := range rows {
		k, at := locateRow(ends, row)
		spans = appendSpan(spans, span{k, int(at), 1})
	}
	return spans
}

// locateRow returns the record that has a row, and the row's number within it.
func locateRow(ends []int64, row int64) (int, int64) {
	k := sort.Search(len(ends), func(k int) bool { return row < ends[k] })
	if k > 0 {
		row -= ends[k-1]
	}
	return k, row
}

// Slice returns a column of examples of the given shape, which follow each other in data.
func Slice[T tensor.Element](name string, role Role, data []T, shape ...int) NamedTensor {
	size := max(tensor.NumElements(shape), 1)
	rows := len(data) / size
	t, err := tensor.FromSlice(data, append([]int{rows}, shape...)...)
	if err != nil { // not a multiple of the shape: Slices reports it
		t = &tensor.Tensor{DType: tensor.TypeOf[T](), Shape: []int{-len(data)}}
	}
	return NamedTensor{Name: name, Role: role, Tensor: t}
}

// Strings returns a column of strings.
func Strings(name string, role Role, data []string) NamedTensor {
	t := tensor.New(tensor.String, len(data))
	for i, s := range data {
		t.Strings[i] = []byte(s)
	}
	return NamedTensor{Name: name, Role: role, Tensor: t}
}

// InMemory reports whether the rows of a data set are in memory and no step computes with them. Reading ahead then
// gains nothing.
func InMemory(ds Dataset) bool {
	n := adopt(ds)
	for ; n.up != nil; n = n.up {
		if n.again != nil && !n.byPosition {
			return false // a map or a filter
		}
	}
	return n.inMemory
}

// Slices returns a data set of columns in memory, whose first dimension counts
// examples. Numeric columns alias their data, which must not change.
func Slices(mem memory.Allocator, columns ...NamedTensor) (Indexed, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("%w: no columns given", ErrEmpty)
	}
	rows := 0
	cols := make([]Column, len(columns))
	for i, c := range columns {
		if len(c.Tensor.Shape) == 0 || c.Tensor.Shape[0] < 0 || c.Offsets != nil {
			return nil, fmt.Errorf("column %q: its %d elements are not a whole number of dense examples of its shape", c.Name, len(c.Tensor.Bytes))
		}
		if i == 0 {
			rows = c.Tensor.Shape[0]
		}
		if c.Tensor.Shape[0] != rows {
			return nil, fmt.Errorf("column %q has %d examples, column %q %d: give all columns equally many",
				c.Name, c.Tensor.Shape[0], columns[0].Name, rows)
		}
		cols[i] = Column{Name: c.Name, DType: c.Tensor.DType, Shape: c.Tensor.Shape[1:], Role: c.Role}
	}
	s, err := NewSchema(cols...)
	if err != nil {
		return nil, err
	}
	// Copies use Go's allocator, since a data set is never closed.
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = tensorArray(s.Arrow().Field(i).Type, c.Tensor, rows)
	}
	ix, err := indexRecords(s, []arrow.Record{array.NewRecord(s.Arrow(), arrays, int64(rows))}, mem)
	if err != nil {
		return nil, err
	}
	ix.view = keepViews(ix.view).view
	return ix, nil
}

// tensorArray returns an array that aliases a numeric tensor, or a copy of
// booleans and strings.
func tensorArray(t arrow.DataType, x *tensor.Tensor, rows int) arrow.Array {
	if x.DType != tensor.Bool && x.DType != tensor.String {
		return denseArray(t, rows, memory.NewBufferBytes(x.Bytes))
	}
	elems := elementArray(x)
	list, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		return elems
	}
	return array.NewFixedSizeListData(array.NewData(list, rows, []*memory.Buffer{nil}, []arrow.ArrayData{elems.Data()}, 0, 0))
}

func elementArray(x *tensor.Tensor) arrow.Array {
	if x.DType == tensor.Bool {
		b := array.NewBooleanBuilder(memory.NewGoAllocator())
		b.AppendValues(tensor.Values[bool](x), nil)
		return b.NewArray()
	}
	b := array.NewBinaryBuilder(memory.NewGoAllocator(), arrow.BinaryTypes.Binary)
	b.AppendValues(x.Strings, nil)
	return b.NewArray()
}
