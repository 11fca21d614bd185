package inputs

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// csvReader reads the rows of one CSV file.
type csvReader struct {
	format  *csvFormat
	ctx     context.Context // of the pass
	name    string
	first   []byte    // first bytes of a stream, which cannot be opened again
	file    io.Closer // nil in tests
	csv     cellRows
	limit   rowLimit  // bounds the bytes of a row
	at      []int     // first cell of each field
	cells   int       // expected number in a row
	rows    int64     // read so far, including damaged ones
	good    bool      // a row was read without error
	again   *rereader // set if damaged rows are left out
	last    int       // line in which the previous row begins; 0: none was read
	builder *array.RecordBuilder
	err     error // found after good rows; includes io.EOF
}

func (r *csvReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	if limit <= 0 {
		limit = chunkRows
	}
	if r.builder == nil {
		r.builder = array.NewRecordBuilder(r.format.mem, r.format.schema.Arrow())
	}
	reading := rowReading{mem: r.format.mem, damaged: r.format.opts.Damaged}
	rec, err := reading.rows(ctx, r.builder, limit, r.row)
	r.err = err
	return orEnded(ctx, rec, err)
}

// completeRows returns the first n rows of a builder; the row after them may be
// incomplete.
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

// next returns the cells of the next row of data. The first row shows whether label
// columns are present.
func (r *csvReader) next() ([]string, error) {
	cells, err := r.cellsOfRow()
	if err == nil && !r.good && r.cells == r.format.cells && r.unlabeled(len(cells)) {
		r.shiftLabels()
	}
	return cells, err
}

// cellsOfRow returns the cells of the next row, which may be a header.
func (r *csvReader) cellsOfRow() ([]string, error) {
	r.limit.left = r.format.longest
	start := r.offset()
	if r.again != nil {
		r.again.forget(start)
	}
	cells, err := r.csv.Read()
	if err == nil {
		r.last, _ = r.csv.FieldPos(0)
	}
	if err == nil || eof(err) {
		return cells, err
	}
	return nil, r.unreadable(start, err)
}

// row reads one row into the builder.
func (r *csvReader) row() error {
	cells, err := r.next()
	if err != nil {
		return err
	}
	if len(cells) != r.cells {
		return r.damage(r.wrongCount(cells))
	}
	for i, f := range r.format.fields {
		if err := r.field(i, f, cells); err != nil {
			return r.damage(err)
		}
	}
	r.rows++
	r.good = true
	return nil
}

// damage returns the error of the last row read.
func (r *csvReader) damage(err error) error {
	r.rows++
	return &damagedRow{r.name, int64(r.last), err}
}

// field writes the cells of one column. A word of the column's vocabulary is a value, even if it is listed as a missing value.
func (r *csvReader) field(i int, f textField, cells []string) error {
	b := r.builder.Field(i)
	if list, ok := b.(*array.FixedSizeListBuilder); ok {
		list.Append(true)
		b = list.ValueBuilder()
	}
	for k := r.at[i]; k < r.at[i]+f.size; k++ {
		cell := strings.TrimSpace(cells[k])
		if r.absent(cell) && !slices.Contains(f.spec.Vocabulary, cell) {
			if f.fallback == nil {
				return r.explainCell(cells, k, f, errMissing)
			}
			cell = *f.fallback
		}
		if err := f.write(b, cell); err != nil {
			return r.explainCell(cells, k, f, err)
		}
	}
	return nil
}

// absent reports whether a cell means that there is no value.
func (r *csvReader) absent(cell string) bool {
	return cell == "" || slices.Contains(r.format.missing, cell)
}

// unlabeled reports whether a file without a header has no label columns.
func (r *csvReader) unlabeled(cells int) bool {
	f := r.format
	return f.opts.Unlabeled && !f.opts.Header && f.labels > 0 && cells == f.cells-f.labels
}

// shiftLabels moves up the fields after absent label columns.
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
