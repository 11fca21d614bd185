package inputs

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// A Frame is a record with reusable memory: its maker fills it again once the last
// reference is released. A pipeline that makes one record after another then
// allocates nothing. A TensorReader reads it without asking for its columns.
//
// A caller that asks for columns may keep them, as with any record. The frame is then
// not reused, and its memory is garbage collected.
type Frame struct {
	schema  *arrow.Schema
	rows    int64
	columns []arrow.Array
	reuse   func()
	refs    atomic.Int64
	shared  atomic.Bool
}

var _ arrow.Record = (*Frame)(nil)

// Reset makes f a record of rows rows, with one reference. Each column must be of
// its field's type. f takes over a reference to each column and keeps the slice. On
// release of the record, reuse is called with the columns still referenced; if a
// caller may still hold columns, they are released instead.
func (f *Frame) Reset(schema *arrow.Schema, columns []arrow.Array, rows int64, reuse func()) {
	f.schema, f.columns, f.rows, f.reuse = schema, columns, rows, reuse
	f.shared.Store(false)
	f.refs.Store(1)
}

// Retain increments the reference count.
func (f *Frame) Retain() { f.refs.Add(1) }

// Release decrements the reference count.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n > 0:
	case n < 0:
		panic("inputs: a record was released more often than it was retained")
	case !f.shared.Load():
		f.reuse()
	default:
		for _, c := range f.columns {
			c.Release()
		}
		f.columns = nil
	}
}

// Schema returns the record's schema.
func (f *Frame) Schema() *arrow.Schema { return f.schema }

// NumRows returns the number of rows.
func (f *Frame) NumRows() int64 { return f.rows }

// NumCols returns the number of columns.
func (f *Frame) NumCols() int64 { return int64(len(f.columns)) }

// ColumnName returns the name of column i.
func (f *Frame) ColumnName(i int) string { return f.schema.Field(i).Name }

// Columns returns all columns; f is then not reused.
func (f *Frame) Columns() []arrow.Array {
	f.shared.Store(true)
	return f.columns
}

// Column returns column i; f is then not reused.
func (f *Frame) Column(i int) arrow.Array {
	f.shared.Store(true)
	return f.columns[i]
}

// record returns an ordinary record of the columns.
func (f *Frame) record() arrow.Record { return array.NewRecord(f.schema, f.Columns(), f.rows) }

// SetColumn returns a record with column i replaced.
func (f *Frame) SetColumn(i int, col arrow.Array) (arrow.Record, error) {
	rec := f.record()
	defer rec.Release()
	return rec.SetColumn(i, col)
}

// NewSlice returns rows i to j-1, without a copy.
func (f *Frame) NewSlice(i, j int64) arrow.Record {
	rec := f.record()
	defer rec.Release()
	return rec.NewSlice(i, j)
}

// MarshalJSON encodes the record like any other.
func (f *Frame) MarshalJSON() ([]byte, error) {
	rec := f.record()
	defer rec.Release()
	return rec.MarshalJSON()
}

// String formats the record like any other.
func (f *Frame) String() string {
	rec := f.record()
	defer rec.Release()
	return fmt.Sprint(rec)
}

// peek returns column i of a record, for reading until the record is released.
func peek(rec arrow.Record, i int) arrow.Array {
	if f, ok := rec.(*Frame); ok {
		return f.columns[i]
	}
	return rec.Column(i)
}
