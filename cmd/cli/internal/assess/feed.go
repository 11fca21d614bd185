package assess

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// feed is an input_fn that keeps its rows until their predictions arrive, in the same order.
type feed struct {
	from  estimator.InputFn
	limit int64 // rows; 0: all

	schema *inputs.Schema

	mu      sync.Mutex
	batches []batch
	row     int   // index of the next row in the first batch
	passed  int64 // rows
	cut     bool  // there were more rows than limit
}

// batch is a record with its values.
type batch struct {
	record  arrow.Record
	columns []inputs.NamedTensor
}

// Input opens the data in eval mode, with labels.
func (f *feed) Input(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ic.Mode = inputs.Eval
	ds, err := f.from.Input(ctx, ic)
	if err != nil {
		return nil, err
	}
	f.schema = ds.Schema()
	return fedDataset{ds, f}, nil
}

type fedDataset struct {
	inputs.Dataset
	feed *feed
}

// Iterate starts a pass and drops what an earlier pass left.
func (d fedDataset) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	d.feed.release()
	return fedIterator{it, d.feed}, nil
}

type fedIterator struct {
	inputs.Iterator
	feed *feed
}

// Next returns the next batch and keeps a copy in the feed.
func (it fedIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if err != nil {
		return nil, err
	}
	f := it.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := f.limit - f.passed; f.limit > 0 && rec.NumRows() > left {
		f.cut = true
		whole := rec
		defer whole.Release()
		if left == 0 {
			return nil, io.EOF
		}
		rec = whole.NewSlice(0, left)
	}
	if rec.NumRows() == 0 {
		return rec, nil
	}
	columns, err := inputs.Tensors(rec, f.schema)
	if err != nil {
		rec.Release()
		return nil, err
	}
	rec.Retain()
	f.batches = append(f.batches, batch{rec, columns})
	f.passed += rec.NumRows()
	return rec, nil
}

// fedRow is a row of a batch. It stays in memory until the next row is taken.
type fedRow struct {
	batch
	i int
}

// errNoRow is a bug in this package or the Predictor.
var errNoRow = errors.New("more predictions than rows of the input")

// take returns the next row.
func (f *feed) take() (fedRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.batches) > 0 && f.row == int(f.batches[0].record.NumRows()) {
		f.batches[0].record.Release()
		f.batches, f.row = slices.Delete(f.batches, 0, 1), 0
	}
	if len(f.batches) == 0 {
		return fedRow{}, errNoRow
	}
	f.row++
	return fedRow{f.batches[0], f.row - 1}, nil
}

// release releases the remaining batches.
func (f *feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		b.record.Release()
	}
	f.batches, f.row, f.passed, f.cut = nil, 0, 0, false
}

// column returns a column of the row; false if there is none with that name.
func (r fedRow) column(s *inputs.Schema, name string) (inputs.NamedTensor, bool) {
	if i := s.Index(name); i >= 0 {
		return r.columns[i], true
	}
	return inputs.NamedTensor{}, false
}
