package inputs

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// FileOrder is the Time of a Folding that uses the order of the rows as their time.
const FileOrder = "file_order"

// Folding divides rows into folds for cross-validation. Without a column, row i is in fold i mod Folds. At most one of Stratify,
// Group and Time is set. The fold of a row depends only on the rows and their order.
type Folding struct {
	// Folds is the number of folds, at least 2.
	Folds int
	// Stratify is a column of classes. The rows of each class are dealt to the folds in turn, and the next class continues with
	// the next fold, so that each fold has about the same class proportions as the data.
	Stratify string
	// Group is a column whose equal values stay in one fold. Groups are dealt to the folds in turn, in the order in which they
	// appear; after the first 65536 groups, a hash (SHA-256) decides.
	Group string
	// Time is a column of times: numbers, or texts in ISO 8601 format (2006-01-02, 2006-01-02T15:04:05Z); or FileOrder. The
	// times divide the rows into Folds+1 blocks of about equal size; rows with the same time are in one block. Fold i evaluates block i+1
	// and trains on all blocks before it. A pass first reads the times of all rows, 8 bytes each.
	Time string
}

// Keep keeps the rows that a fold holds out for evaluation, or the rows that it trains on.
func (f Folding) Keep(fold int, heldOut bool) Transform {
	if f.column() == "" && f.Time == "" {
		return Fold(f.Folds, fold, heldOut)
	}
	keep := func(of int) bool { return (of == fold) == heldOut }
	if f.Time != "" && !heldOut {
		keep = func(of int) bool { return of < fold }
	}
	return func(ds Dataset) Dataset {
		if f.Folds > 0 && (fold < 0 || fold >= f.Folds) {
			return adopt(ds).refuse("the held out fold must lie in [0, %d), got %d", f.Folds, fold)
		}
		return f.node(ds, fmt.Sprintf("%d,%t", fold, heldOut), nil, func(n *node, rec arrow.Record, folds []int) (arrow.Record, error) {
			return keepRows(n, rec, func(i int) bool { return keep(folds[i]) })
		})
	}
}

// Number appends a column of int64: the fold that holds out each row, or -1 for rows of the first block by time, which no fold holds out.
func (f Folding) Number(name string) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		s, err := NewSchema(append(up.schema.columns[:len(up.schema.columns):len(up.schema.columns)], Column{Name: name, DType: tensor.Int64})...)
		if err != nil {
			return up.refuse("folds: %w", err)
		}
		return f.node(ds, fmt.Sprintf("%q", name), s, func(n *node, rec arrow.Record, folds []int) (arrow.Record, error) {
			defer rec.Release()
			b := array.NewInt64Builder(n.mem)
			defer b.Release()
			for _, k := range folds {
				b.Append(int64(k))
			}
			numbers := b.NewArray()
			defer numbers.Release()
			columns := append(rec.Columns()[:rec.NumCols():rec.NumCols()], numbers)
			return array.NewRecord(s.Arrow(), columns, rec.NumRows()), nil
		})
	}
}

// column returns the column that decides the fold of a row, "" if there is none.
func (f Folding) column() string {
	switch {
	case f.Stratify != "":
		return f.Stratify
	case f.Group != "":
		return f.Group
	case f.Time != FileOrder:
		return f.Time
	}
	return ""
}

func (f Folding) check(s *Schema) error {
	set := 0
	for _, name := range []string{f.Stratify, f.Group, f.Time} {
		if name != "" {
			set++
		}
	}
	if f.Folds < 2 {
		return fmt.Errorf("expected at least 2 folds, got %d", f.Folds)
	}
	if set > 1 {
		return errors.New("stratify, group and time exclude each other: set one")
	}
	if f.column() == "" {
		return nil
	}
	c, err := s.Column(f.column())
	switch {
	case err != nil:
		return err
	case f.Group == "" && (c.Ragged || c.Size() != 1):
		return fmt.Errorf("column %s has several values in a row, expected one", c)
	}
	return nil
}

// node returns a step that finds the fold of each row and passes each record with its folds to act, which releases the record.
func (f Folding) node(ds Dataset, name string, out *Schema, act func(n *node, rec arrow.Record, folds []int) (arrow.Record, error)) Dataset {
	up := adopt(ds)
	if err := f.check(up.schema); err != nil {
		return up.refuse("split: %w", err)
	}
	d := up.derive(fmt.Sprintf("folds(%d,%q,%q,%q,%s)", f.Folds, f.Stratify, f.Group, f.Time, name), nil)
	d.byPosition, d.mixes = true, true
	if out != nil {
		d.schema = out
	}
	blocks := &timeBlocks{f: f, up: up}
	d.start = func(ctx context.Context, epoch int64) (stage, error) {
		number, err := f.numbers(ctx, up.schema, blocks)
		if err != nil {
			return nil, err
		}
		st, err := up.open(withoutBatchMemory(ctx), epoch)
		if err != nil {
			return nil, err
		}
		return &foldStage{up: st, node: d, number: number, act: act}, nil
	}
	return d
}

// numbers returns the fold rule of a pass.
func (f Folding) numbers(ctx context.Context, s *Schema, blocks *timeBlocks) (foldRule, error) {
	at := s.Index(f.column())
	switch {
	case f.Time != "":
		if err := blocks.find(ctx); err != nil {
			return nil, err
		}
		return &byTime{blocks: blocks, at: at}, nil
	case f.column() != "":
		return &byValue{f: f, at: at, seen: map[rowHash]*foldValue{}}, nil
	}
	return &byRow{folds: int64(f.Folds)}, nil
}

// foldRule returns the folds of the rows of a pass, in order.
type foldRule interface {
	fold(rec arrow.Record, row int) (int, error)
	save(w *stateWriter)
	load(r *stateReader) error
}

type foldStage struct {
	up     stage
	node   *node
	number foldRule
	act    func(n *node, rec arrow.Record, folds []int) (arrow.Record, error)
	row    int64 // rows read
	folds  []int // of the current record
}

func (s *foldStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec, err := s.up.pull(withoutBatchMemory(ctx), limit)
		if err != nil {
			return nil, err
		}
		s.folds = s.folds[:0]
		for i := range int(rec.NumRows()) {
			k, err := s.number.fold(rec, i)
			if err != nil {
				rec.Release()
				var e *RowError
				if errors.As(err, &e) {
					e.Row = s.row + int64(i)
				}
				return nil, fmt.Errorf("split: %w", err)
			}
			s.folds = append(s.folds, k)
		}
		s.row += rec.NumRows()
		rec, err = s.act(s.node, rec, s.folds)
		if rec != nil || err != nil {
			return rec, err
		}
	}
}

func (s *foldStage) save(w *stateWriter) error {
	w.int(s.row)
	s.number.save(w)
	return s.up.save(w)
}

func (s *foldStage) load(ctx context.Context, r *stateReader) error {
	s.row = r.count(math.MaxInt64)
	if err := s.number.load(r); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	return s.up.load(ctx, r)
}

func (s *foldStage) close() error { return s.up.close() }

// byRow is the fold rule without a column.
type byRow struct{ row, folds int64 }

func (f *byRow) fold(arrow.Record, int) (int, error) {
	k := f.row % f.folds
	f.row++
	return int(k), nil
}

func (f *byRow) save(w *stateWriter)       { w.int(f.row) }
func (f *byRow) load(r *stateReader) error { f.row = r.count(math.MaxInt64); return r.err }
