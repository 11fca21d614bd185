package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// Reader reads the fields of a file. It is safe for concurrent use.
type Reader struct {
	file   *file.Reader
	mem    memory.Allocator
	fields []*field
	schema *arrow.Schema
}

// MaxNested is the most groups that a column may be nested in. Each group takes memory for each row, and a list is two.
const MaxNested = 100

// NewReader returns a reader of the fields of f. It allocates from mem.
func NewReader(f *file.Reader, mem memory.Allocator) (*Reader, error) {
	for i := range f.MetaData().Schema.NumColumns() {
		if path := f.MetaData().Schema.Column(i).ColumnPath(); len(path) > MaxNested+1 {
			return nil, fmt.Errorf("a column lies in %d groups, expected at most %d", len(path)-1, MaxNested)
		}
	}
	stored, err := storedSchema(f.MetaData().KeyValueMetadata(), mem)
	if err != nil {
		return nil, err
	}
	root := f.MetaData().Schema.Root()
	if stored != nil && stored.NumFields() != root.NumFields() {
		stored = nil // it belongs to other columns
	}
	r := &Reader{file: f, mem: mem, fields: make([]*field, root.NumFields())}
	fields := make([]arrow.Field, len(r.fields))
	for i := range r.fields {
		t := tree{f.MetaData().Schema}
		if r.fields[i], err = t.field(root.Field(i), file.LevelInfo{NullSlotUsage: 1}); err != nil {
			return nil, fmt.Errorf("column %q: %w", root.Field(i).Name(), err)
		}
		if stored != nil {
			r.fields[i].restore(stored.Field(i))
		}
		fields[i] = r.fields[i].Field
	}
	var meta *arrow.Metadata
	if stored != nil {
		m := stored.Metadata()
		meta = &m
	}
	r.schema = arrow.NewSchema(fields, meta)
	return r, nil
}

// Schema returns the fields of the file.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Leaves returns the file's columns that make up a field.
func (r *Reader) Leaves(field int) []int { return r.fields[field].leaves(nil) }

// Column returns a field of a row group. It has all rows of the row group, or there is an error.
func (r *Reader) Column(group, field int) (arrow.Array, error) {
	f := r.fields[field]
	rows := r.file.MetaData().RowGroup(group).NumRows()
	if rows < 0 || rows > maxRows {
		return nil, fmt.Errorf("row group %d has %d rows, expected between 0 and %d", group, rows, maxRows)
	}
	b := builder{file: r.file, mem: r.mem, group: group, rows: rows}
	defer b.release()
	a, err := b.array(f, rows)
	if err == nil && int64(a.Len()) != rows {
		err = fmt.Errorf("%d rows can be read, expected %d", a.Len(), rows)
		a.Release()
	}
	if err != nil {
		return nil, fmt.Errorf("row group %d, column %q: %w", group, f.Name, err)
	}
	return a, nil
}

// maxRows is the most rows in a row group: offsets of lists have 32 bits.
const maxRows = 1<<31 - 2
