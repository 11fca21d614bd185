package inputs

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// FilterFunc decides which rows of a record to keep: it sets keep[i] for row i.
// keep has one entry for each row, all false.
type FilterFunc func(ctx context.Context, rec arrow.Record, keep []bool) error

// Filter keeps the rows that f chooses. The name becomes part of the pipeline's
// description.
func Filter(name string, f FilterFunc) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		d := up.derive(fmt.Sprintf("filter(%s)", name), nil)
		if f == nil {
			return up.refuse("filter %q has no function", name)
		}
		d.again = func(ctx context.Context, rec arrow.Record, _ *int64) (arrow.Record, error) {
			return (&filterStage{node: d, name: name, f: f}).filter(ctx, rec)
		}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(ctx, epoch)
			if err != nil {
				return nil, err
			}
			return &filterStage{up: st, node: d, name: name, f: f}, nil
		}
		return d
	}
}

type filterStage struct {
	up   stage
	node *node
	name string
	f    FilterFunc
}

func (s *filterStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec, err := s.up.pull(ctx, limit)
		if err != nil {
			return nil, err
		}
		rec, err = s.filter(ctx, rec)
		if rec != nil || err != nil {
			return rec, err
		}
	}
}

// filter returns the rows of rec that f keeps, nil if there are none. It releases rec.
func (s *filterStage) filter(ctx context.Context, rec arrow.Record) (arrow.Record, error) {
	keep := make([]bool, rec.NumRows())
	if err := s.choose(ctx, rec, keep); err != nil {
		rec.Release()
		return nil, err
	}
	return keepRows(s.node, rec, func(i int) bool { return keep[i] })
}

// choose calls the filter. A panic becomes an error, since the filter may run in a
// background goroutine.
func (s *filterStage) choose(ctx context.Context, rec arrow.Record, keep []bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("filter %q panicked: %v", s.name, p)
		}
	}()
	return s.f(ctx, rec, keep)
}

func (s *filterStage) save(w *stateWriter) error                      { return s.up.save(w) }
func (s *filterStage) load(ctx context.Context, r *stateReader) error { return s.up.load(ctx, r) }
func (s *filterStage) close() error                                   { return s.up.close() }
