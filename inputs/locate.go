package inputs

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
)

// Locate finds the row of the files that has a bad value. It reads a data set again in the
// order of the files, without shuffles, repeats and batches, until check or a step of the data
// set fails at a row.
//
// It returns that failure with its place. The result is nil if nothing fails, for data
// without an end, and for data that this package does not read.
func Locate(ctx context.Context, ds Dataset, check func(context.Context, arrow.Record) error) *DataError {
	t := retrace(adopt(ds), check)
	if t == nil {
		return nil
	}
	st, err := t.source.open(ctx, 0)
	if err != nil {
		return nil
	}
	defer st.close()
	for row := int64(0); ; {
		rec, err := st.pull(ctx, 0)
		if err != nil {
			return nil
		}
		at, err := t.search(ctx, rec)
		n := rec.NumRows()
		rec.Release()
		if err != nil {
			return t.describe(ctx, st, row, n, at, err)
		}
		row += n
	}
}

// rowStep applies a step of a pipeline to each row of a record on its own. It takes ownership
// of the record, and returns nil if no row is left. seen counts the rows that reached the step.
type rowStep func(ctx context.Context, rec arrow.Record, seen *int64) (arrow.Record, error)

// retraced reads a data set in the order of its source.
type retraced struct {
	source *node
	steps  []rowStep
	seen   []int64 // rows that reached each step
	check  func(context.Context, arrow.Record) error
}

// retrace returns nil for data that this package does not read.
func retrace(n *node, check func(context.Context, arrow.Record) error) *retraced {
	t := &retraced{check: check}
	var steps []*node
	for ; n.up != nil; n = n.up {
		if n.mixes { // positions after it differ from the files'
			steps = slices.DeleteFunc(steps, func(s *node) bool { return s.byPosition })
		}
		if n.again != nil {
			steps = append(steps, n)
		}
	}
	if n.place == nil || n.err != nil {
		return nil
	}
	for _, s := range slices.Backward(steps) {
		t.steps = append(t.steps, s.again)
	}
	t.source, t.seen = n, make([]int64, len(t.steps))
	return t
}

// search returns the first row of a record that fails, and how.
func (t *retraced) search(ctx context.Context, rec arrow.Record) (row int64, err error) {
	before := slices.Clone(t.seen)
	if t.run(ctx, rec) == nil {
		return 0, nil
	}
	copy(t.seen, before)
	for i := range rec.NumRows() {
		one := rec.NewSlice(i, i+1)
		err := t.run(ctx, one)
		one.Release()
		if err != nil {
			return i, err
		}
	}
	return 0, nil // only the record as a whole fails
}

// run passes a record through all steps, then checks the remaining rows.
func (t *retraced) run(ctx context.Context, rec arrow.Record) error {
	rec.Retain()
	for i, step := range t.steps {
		var err error
		if rec, err = step(ctx, rec, &t.seen[i]); rec == nil || err != nil {
			return err
		}
	}
	defer rec.Release()
	return t.check(ctx, rec)
}

// describe returns the error of row at of the last record of st, which has rows rows and begins at row first of the source.
func (t *retraced) describe(ctx context.Context, st stage, first, rows, at int64, err error) *DataError {
	if ctx.Err() != nil {
		return nil
	}
	var e *RowError
	column, element := "", 0
	if errors.As(err, &e) {
		column, element, err = e.Column, e.Element, &explained{e, e.what()}
	}
	row := first + at
	if f, ok := unmetered(st).(*fileStage); ok {
		row = f.row - rows + at // row of the file
		if d := f.src.placeOf(ctx, f.src.files[f.file], row, column, element); d != nil {
			d.Name, d.Err = column, err
			return d
		}
		d := &DataError{File: f.src.files[f.file], Row: row + 1, Name: column, Err: err}
		if f.src.damaged != nil { // row counts only delivered rows
			d.Row = 0
		}
		return d
	}
	d := t.source.place(row)
	d.Name, d.Err = column, err
	return &d
}

// placed is a reader that knows the places of the values of the last row read.
type placed interface {
	// placeOf returns the place of an element of a column, or the row's place if column is "" or is not read.
	placeOf(column string, element int) DataError
}

// placeOf returns the place of a value in a row of a file, nil if only the row is known.
func (src fileSource) placeOf(ctx context.Context, name string, row int64, column string, element int) *DataError {
	r, err := src.reader(ctx, name)
	if err != nil {
		return nil
	}
	defer r.close()
	p, ok := r.(placed)
	if !ok || r.skip(ctx, row) != nil {
		return nil
	}
	rec, err := r.read(ctx, 1)
	if err != nil {
		return nil
	}
	rec.Release()
	d := p.placeOf(column, element)
	return &d
}

// placeOf implements placed.
func (r *csvReader) placeOf(column string, element int) DataError {
	d := DataError{File: r.name, Line: r.last}
	for i, f := range r.format.fields {
		if f.spec.Name == column && element < f.size {
			d.Line, d.Column = r.csv.FieldPos(r.at[i] + element)
		}
	}
	return d
}

// placeOf implements placed.
func (r *jsonReader) placeOf(string, int) DataError { return DataError{File: r.name, Line: r.line} }

// placeOf implements placed.
func (r *exampleReader) placeOf(string, int) DataError {
	return DataError{File: r.name, Record: r.record}
}
