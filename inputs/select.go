package inputs

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// selection keeps rows by their positions in the stream.
type selection struct {
	name  string
	stop  int64                           // no rows from here on are kept
	keep  func(row int64) bool            // nil: keeps all
	at    func(i int64) int64             // position of the i-th kept row
	count func(length int64) (kept int64) // number of rows kept
}

// Take keeps the first n rows.
func Take(n int64) Transform {
	sel := selection{name: fmt.Sprintf("take(%d)", n), stop: n,
		at: func(i int64) int64 { return i }, count: func(length int64) int64 { return min(n, length) }}
	return sel.transform(n >= 0, "take must not be negative, got %d", n)
}

// Skip leaves out the first n rows.
func Skip(n int64) Transform {
	sel := selection{name: fmt.Sprintf("skip(%d)", n), stop: math.MaxInt64,
		keep: func(row int64) bool { return row >= n },
		at:   func(i int64) int64 { return n + i },
		count: func(length int64) int64 {
			if length == math.MaxInt64 {
				return length - n
			}
			return max(length-n, 0)
		}}
	return sel.transform(n >= 0, "skip must not be negative, got %d", n)
}

// Shard keeps every count-th row, starting at row index: the share of one of count pipelines.
func Shard(index, count int) Transform {
	i, n := int64(index), int64(count)
	sel := selection{name: fmt.Sprintf("shard(%d/%d)", index, count), stop: math.MaxInt64,
		keep: func(row int64) bool { return row%n == i },
		at:   func(k int64) int64 { return k*n + i },
		count: func(length int64) int64 {
			if length <= i {
				return 0
			}
			return (length-i-1)/n + 1
		}}
	return sel.transform(n > 0 && i >= 0 && i < n, "shard index must lie in [0, %[2]d), got %[1]d", index, count)
}

// Fold divides the rows into folds, row i into fold i mod folds, and keeps the
// held-out fold or all others. These parts, for evaluation and training, are the
// same in every run, and balanced even if rows are sorted by class.
func Fold(folds, heldOut int, keepHeldOut bool) Transform {
	if keepHeldOut {
		return Shard(heldOut, folds)
	}
	n, out := int64(folds), int64(heldOut)
	sel := selection{name: fmt.Sprintf("fold(-%d/%d)", heldOut, folds), stop: math.MaxInt64,
		keep: func(row int64) bool { return row%n != out },
		at: func(k int64) int64 {
			i := k % (n - 1)
			if i >= out {
				i++
			}
			return k/(n-1)*n + i
		},
		count: func(length int64) int64 {
			kept := length / n * (n - 1)
			rest := length % n
			if rest > out {
				rest--
			}
			return kept + rest
		}}
	return sel.transform(n > 1 && out >= 0 && out < n, "split needs at least 2 folds and a held-out one in [0, %d), got %d", folds, heldOut)
}

func (sel selection) transform(valid bool, format string, args ...any) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if !valid {
			return up.refuse(format, args...)
		}
		d := up.derive(sel.name, nil)
		d.again, d.byPosition = sel.again(d), true
		if ix, ok := ds.(Indexed); ok && up.err == nil {
			return sel.indexed(d, ix)
		}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(ctx, epoch)
			if err != nil {
				return nil, err
			}
			return &selectStage{up: st, node: d, sel: sel}, nil
		}
		return d
	}
}

// indexed returns the selection from a data set with random access; the result also has
// random access.
func (sel selection) indexed(d *node, ix Indexed) Dataset {
	return newIndexed(d, sel.count(ix.Len()), func(ctx context.Context, rows []int64) (arrow.Record, error) {
		src := make([]int64, len(rows))
		for i, r := range rows {
			src[i] = sel.at(r)
		}
		return ix.Gather(ctx, src)
	})
}

// again returns the selection as a rowStep.
func (sel selection) again(n *node) rowStep {
	return func(_ context.Context, rec arrow.Record, seen *int64) (arrow.Record, error) {
		first := *seen
		*seen += rec.NumRows()
		return keepRows(n, rec, func(i int) bool {
			row := first + int64(i)
			return row < sel.stop && (sel.keep == nil || sel.keep(row))
		})
	}
}

// selectStage selects from a stream.
type selectStage struct {
	up   stage
	node *node
	sel  selection
	row  int64 // rows read so far
}

func (s *selectStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		left := s.sel.stop - s.row
		if left <= 0 {
			return nil, io.EOF
		}
		rec, err := s.up.pull(ctx, int(min(int64(limit), left)))
		if err != nil {
			return nil, err
		}
		if rec.NumRows() > left { // the rest of the stream is not needed
			whole := rec
			rec = whole.NewSlice(0, left)
			whole.Release()
		}
		first := s.row
		s.row += rec.NumRows()
		if s.sel.keep == nil {
			return rec, nil
		}
		rec, err = keepRows(s.node, rec, func(i int) bool { return s.sel.keep(first + int64(i)) })
		if rec != nil || err != nil {
			return rec, err
		}
	}
}

// keepRows returns the rows of rec for which pass is true, nil if there are none. It releases rec.
func keepRows(n *node, rec arrow.Record, pass func(i int) bool) (arrow.Record, error) {
	var spans []span
	for i := range int(rec.NumRows()) {
		if pass(i) {
			spans = appendSpan(spans, span{0, i, 1})
		}
	}
	if len(spans) == 1 && spans[0].n == int(rec.NumRows()) {
		return rec, nil
	}
	defer rec.Release()
	if len(spans) == 0 {
		return nil, nil
	}
	if len(spans) == 1 {
		return rec.NewSlice(int64(spans[0].start), int64(spans[0].start+spans[0].n)), nil
	}
	return gatherRecord(n.mem, n.schema.Arrow(), []arrow.Record{rec}, spans)
}

func (s *selectStage) save(w *stateWriter) error {
	w.int(s.row)
	return s.up.save(w)
}

func (s *selectStage) load(ctx context.Context, r *stateReader) error {
	s.row = r.count(math.MaxInt64)
	if r.err != nil {
		return r.err
	}
	return s.up.load(ctx, r)
}

func (s *selectStage) close() error { return s.up.close() }
