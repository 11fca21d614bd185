package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
)

// trainingInput reads the batches of a training loop: those of one step, and,
// where asked, those of the next while the present ones are still in use.
type trainingInput struct {
	ds       inputs.Dataset
	lend     func(context.Context) context.Context // for passes: where batches lie
	it       inputs.Iterator
	now      *stager
	ahead    *stager
	isAhead  bool   // ahead holds the next step's batches
	position []byte // behind the batches of the last step; nil: that is where it is
}

// rewind starts a pass at a position, or at the beginning for nil.
func (in *trainingInput) rewind(ctx context.Context, position []byte) error {
	if err := in.close(); err != nil {
		return err
	}
	var err error
	if in.it, err = in.ds.Iterate(in.lend(ctx)); err != nil || position == nil {
		return err
	}
	return in.it.Restore(position)
}

// next returns the next step's batches, fewer or none at the end of the input.
// Those of the step before are released.
func (in *trainingInput) next(ctx context.Context) ([]distribute.Batch, error) {
	in.now.release()
	if in.isAhead {
		in.now, in.ahead, in.isAhead, in.position = in.ahead, in.now, false, nil
		return in.now.batches(), nil
	}
	if len(in.now.readers) > 1 { // what was read of a step that then is not made comes again
		var err error
		if in.position, err = in.it.State(); err != nil {
			return nil, err
		}
	}
	if err := in.fill(ctx, in.now); err != nil {
		return nil, err
	}
	in.position = nil
	return in.now.batches(), nil
}

// readAhead reads the batches of the step after the present one.
func (in *trainingInput) readAhead(ctx context.Context) ([]distribute.Batch, error) {
	var err error
	if in.position, err = in.it.State(); err != nil {
		return nil, err
	}
	in.isAhead = true
	err = in.fill(ctx, in.ahead)
	return in.ahead.batches(), err
}

// fill stages a batch for each replica, as many as there are.
func (in *trainingInput) fill(ctx context.Context, st *stager) error {
	for !st.full() {
		rec, err := in.it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("input: %w", err)
		}
		if rec.NumRows() == 0 {
			rec.Release()
			continue
		}
		if err := st.add(rec); err != nil {
			return err
		}
	}
	return nil
}

// state returns the position behind the present step's batches.
func (in *trainingInput) state() ([]byte, error) {
	if in.position != nil {
		return in.position, nil
	}
	return in.it.State()
}

// close ends the pass.
func (in *trainingInput) close() error {
	in.now.release()
	in.ahead.release()
	in.isAhead, in.position = false, nil
	if in.it == nil {
		return nil
	}
	it := in.it
	in.it = nil
	return it.Close()
}
