package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
)

// trainingInput reads the batches of a training loop: for one step and, if asked, for
// later steps while the current batches are still in use.
type trainingInput struct {
	session  *session
	ds       inputs.Dataset
	it       inputs.Iterator
	now      *stager
	ahead    []readAhead // batches of the next steps, in order
	free     []*stager
	list     []*stager // all stagers
	position []byte    // the position after the last step's batches; nil: the current position
	meter    *inputs.Meter
	waited   time.Duration // the time spent waiting for records
}

// readAhead is the batches of a later step.
type readAhead struct {
	batches *stager
	before  func() []byte // the input's position before them
	err     error         // of reading them; next returns it in turn
}

// rewind starts a pass at a position, or at the beginning for nil.
func (in *trainingInput) rewind(ctx context.Context, position []byte) error {
	if err := in.close(); err != nil {
		return err
	}
	var err error
	if in.it, err = in.ds.Iterate(inputs.WithMeter(in.session.withPinnedMemory(ctx), in.meter)); err != nil || position == nil {
		return err
	}
	return in.it.Restore(position)
}

// next returns the next step's batches, fewer or none at the end of the input.
// The batches of the step before are released.
func (in *trainingInput) next(ctx context.Context) ([]distribute.Batch, error) {
	in.now.release()
	if len(in.ahead) > 0 {
		next := in.ahead[0]
		in.ahead = slices.Delete(in.ahead, 0, 1)
		in.free, in.now, in.position = append(in.free, in.now), next.batches, nil
		return in.now.batches(), next.err
	}
	if len(in.now.readers) > 1 { // a step that is not made leaves its batches to be read again
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

// readAhead reads the batches of one more step after the current one. If the input
// fails it reads none, and next returns the error after all earlier batches.
func (in *trainingInput) readAhead(ctx context.Context) (*stager, error) {
	before, err := inputs.Mark(in.it)
	if err != nil {
		return nil, err
	}
	var st *stager
	if n := len(in.free) - 1; n >= 0 {
		st, in.free = in.free[n], in.free[:n]
	} else {
		st = in.session.newStager()
	}
	if err = in.fill(ctx, st); err != nil {
		st.release()
	}
	in.ahead = append(in.ahead, readAhead{st, before, err})
	return st, nil
}

// stagers returns all stagers, in use or not. The result is valid until the next call.
func (in *trainingInput) stagers() []*stager {
	in.list = append(in.list[:0], in.now)
	for _, a := range in.ahead {
		in.list = append(in.list, a.batches)
	}
	in.list = append(in.list, in.free...)
	return in.list
}

// last reports whether the current step is known to be the last.
func (in *trainingInput) last() bool {
	return len(in.ahead) > 0 && len(in.ahead[0].batches.batches()) == 0
}

// more reports whether there may be unread batches.
func (in *trainingInput) more() bool {
	n := len(in.ahead)
	return n == 0 || in.ahead[n-1].batches.full()
}

// fill stages a batch for each replica, fewer at the end of the input.
func (in *trainingInput) fill(ctx context.Context, st *stager) error {
	if x, ok := in.session.strategy.(distribute.Elastic); ok {
		if share, ok := x.Share(); ok {
			return in.fillShare(ctx, st, share)
		}
	}
	for !st.full() {
		rec, err := in.record(ctx)
		if rec == nil || err != nil {
			return err
		}
		if err := in.stage(ctx, st, rec); err != nil {
			return err
		}
	}
	return nil
}

// record returns the next record that has rows, nil at the end of the input.
func (in *trainingInput) record(ctx context.Context) (arrow.Record, error) {
	for {
		began := time.Now()
		rec, err := in.it.Next(ctx)
		in.waited += time.Since(began)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("input: %w", in.session.located(ctx, in.ds, err))
		case rec.NumRows() > 0:
			return rec, nil
		}
		rec.Release()
	}
}

// stage turns a record into a batch.
func (in *trainingInput) stage(ctx context.Context, st *stager, rec arrow.Record) error {
	if err := st.add(rec); err != nil {
		return fmt.Errorf("input: %w", in.session.located(ctx, in.ds, err))
	}
	return nil
}

// state returns the position after the current step's batches.
func (in *trainingInput) state() ([]byte, error) {
	if len(in.ahead) > 0 {
		return in.ahead[0].before(), nil
	}
	if in.position != nil {
		return in.position, nil
	}
	return in.it.State()
}

// close ends the pass.
func (in *trainingInput) close() error {
	in.now.release()
	for _, a := range in.ahead {
		a.batches.release()
		in.free = append(in.free, a.batches)
	}
	in.ahead, in.position = in.ahead[:0], nil
	if in.it == nil {
		return nil
	}
	it := in.it
	in.it = nil
	return it.Close()
}
