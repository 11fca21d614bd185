package estimator

import (
	"context"

	"github.com/goestimator/goestimator/internal/distribute"
)

// fillShare reads the records of all workers for a step, and stages this worker's share, which may be empty.
// All workers are then at the same input position.
func (in *trainingInput) fillShare(ctx context.Context, st *stager, share distribute.Share) error {
	if !share.Whole {
		return in.fillRows(ctx, st, share)
	}
	for i := range share.Count {
		rec, err := in.record(ctx)
		if rec == nil || err != nil {
			return err
		}
		if i != share.Index {
			rec.Release()
			continue
		}
		if err := in.stage(ctx, st, rec); err != nil {
			return err
		}
	}
	return nil
}

// fillRows stages this worker's rows of the next record.
func (in *trainingInput) fillRows(ctx context.Context, st *stager, share distribute.Share) error {
	rec, err := in.record(ctx)
	if rec == nil || err != nil {
		return err
	}
	defer rec.Release()
	first, end := share.Rows(rec.NumRows())
	if first == end {
		return nil
	}
	return in.stage(ctx, st, rec.NewSlice(first, end))
}
