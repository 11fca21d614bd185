package inputs

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// csvReader reads the rows of one CSV file.
type csvReader struct {
	format  *csvFormat
	name    string
	file    io.Closer // nil in tests
	csv     *csv.Reader
	at      []int // first cell of each field
	cells   int   // expected in a row
	rows    int64 // read so far
	builder *array.RecordBuilder
	err     error // found behind rows that were still good; io.EOF included
}

func (r *csvReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	if r.builder == nil {
		r.builder = array.NewRecordBuilder(r.format.mem, r.format.schema.Arrow())
	}
	n := 0
	for n < limit && r.err == nil {
		if r.err = r.row(); r.err == nil {
			n++
		}
	}
	if n == 0 {
		return nil, r.err
	}
	return completeRows(r.builder, n), nil
}

// completeRows returns the first n rows of a builder; a row behind them may be
// half written.
func completeRows(b *array.RecordBuilder, n int) arrow.Record {
	cols := make([]arrow.Array, len(b.Fields()))
	for i, f := range b.Fields() {
		cols[i] = f.NewArray()
		if cols[i].Len() > n {
			all := cols[i]
			cols[i] = array.NewSlice(all, 0, int64(n))
			all.Release()
		}
		defer cols[i].Release()
	}
	return array.NewRecord(b.Schema(), cols, int64(n))
}

// next returns the cells of the next row. The first one tells whether label
// columns are there.
func (r *csvReader) next() ([]string, error) {
	cells, err := r.csv.Read()
	if eof(err) {
		return nil, err
	}
	if err != nil {
		return nil, r.broken(err)
	}
	if r.rows == 0 && r.unlabeled(len(cells)) {
		r.shiftLabels()
	}
	return cells, nil
}

// row reads one row into the builder.
func (r *csvReader) row() error {
	cells, err := r.next()
	if err != nil {
		return err
	}
	if len(cells) != r.cells {
		line, _ := r.csv.FieldPos(0)
		return &DataError{File: r.name, Line: line, Err: fmt.Errorf("row has %d cells, expected %d: check the delimiter %q, the quotes and the list of columns",
			len(cells), r.cells, r.format.comma)}
	}
	for i, f := range r.format.fields {
		if err := r.field(i, f, cells); err != nil {
			return err
		}
	}
	r.rows++
	return nil
}

// field writes the cells of one column.
func (r *csvReader) field(i int, f textField, cells []string) error {
	b := r.builder.Field(i)
	if list, ok := b.(*array.FixedSizeListBuilder); ok {
		list.Append(true)
		b = list.ValueBuilder()
	}
	for k := r.at[i]; k < r.at[i]+f.size; k++ {
		cell := strings.TrimSpace(cells[k])
		if cell == "" || slices.Contains(r.format.missing, cell) {
			if f.fallback == nil {
				return r.locate(k, f, errMissing)
			}
			cell = *f.fallback
		}
		if err := f.write(b, cell); err != nil {
			return r.locate(k, f, err)
		}
	}
	return nil
}

// locate says where an error is.
func (r *csvReader) locate(cell int, f textField, err error) error {
	line, column := r.csv.FieldPos(cell)
	if r.rows == 0 && !r.format.opts.Header {
		err = fmt.Errorf("%w (if the first row holds names, set header: true)", err)
	}
	return &DataError{File: r.name, Line: line, Column: column, Name: f.spec.Name, Err: err}
}

// broken returns the error of a row that is not CSV, or of a file that cannot be read.
func (r *csvReader) broken(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return &DataError{File: r.name, Line: pe.Line, Column: pe.Column, Err: fmt.Errorf("%w: correct the quotes", pe.Err)}
	}
	return fileError(r.name, "file cannot be read to its end, it may be cut short: %w", err)
}

// unlabeled reports whether a file without a header lacks the label columns.
func (r *csvReader) unlabeled(cells int) bool {
	f := r.format
	return f.opts.Unlabeled && !f.opts.Header && f.labels > 0 && cells == f.cells-f.labels
}

// shiftLabels moves the fields together that lie behind absent label columns.
func (r *csvReader) shiftLabels() {
	f := r.format
	r.cells = f.cells - f.labels
	for i := range r.at {
		cell := 0
		for _, s := range f.specs {
			size := 1
			for _, d := range s.Shape {
				size *= d
			}
			if s.Role == Label && cell < f.fields[i].first {
				r.at[i] -= size
			}
			cell += size
		}
	}
}

func (r *csvReader) close() error {
	if r.builder != nil {
		r.builder.Release()
		r.builder = nil
	}
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
