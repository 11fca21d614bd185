package engine

import (
	"context"
	"errors"
	"io"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// state is a plan, its memory on the device and the current run. A Program and its executor share it.
type state struct {
	*plan
	dev    device.Device
	vars   *Variables
	stream device.Stream

	arena    device.Buffer
	consts   device.Buffer
	capacity int
	allow    func(bytes int) error // nil: memory may be allocated

	batch   int          // the batch size that sizes are set for, 0 for none
	pending [perRun]bool // steps of this frequency have to run before the next run
	results []*tensor.Tensor
	left    map[int]bool // fetches that stay on the device

	ctx  context.Context
	done <-chan struct{} // ctx's; nil from the first update on, so that the run completes
	at   *step           // the step that runs, for the error of a panic
}

// begin sets the context that can stop a run, and end clears it after the run.
func (s *state) begin(ctx context.Context) { s.ctx, s.done = ctx, ctx.Done() }
func (s *state) end()                      { s.ctx, s.done = nil, nil }

// stopped returns the context's error if the run is to stop.
func (s *state) stopped() error {
	select {
	case <-s.done:
		return s.ctx.Err()
	default:
		return nil
	}
}

// commit makes a run unstoppable before it updates a variable. It fails if the run is already stopped.
func (s *state) commit() error {
	err := s.stopped()
	if err == nil {
		s.done = nil
	}
	return err
}

// runStep does a step on the host.
func (s *state) runStep(x *step) error {
	if s.options.Profile {
		defer x.measure(s.batch)()
	}
	if timeline.Active() != nil {
		defer s.show(x)()
	}
	if err := x.compute(); err != nil {
		return &NodeError{x.op.node.Op, x.op.node.Name, err}
	}
	if s.options.CheckNumerics {
		return x.checkNumerics()
	}
	return nil
}

// resize sets all sizes for a batch.
func (s *state) resize(batch int) error {
	s.batch = 0
	if err := s.plan.resize(batch, &s.at); err != nil {
		return err
	}
	s.resizeResults()
	s.batch, s.pending[perBatchSize] = batch, true
	return nil
}

// alloc allocates memory for values, if allow agrees.
func (s *state) alloc(size int) (device.Buffer, error) {
	if s.allow != nil {
		if err := s.allow(size); err != nil {
			return nil, err
		}
	}
	return s.dev.Alloc(size)
}

// replaceArena frees the arena with the values of all runs and uses a new one.
func (s *state) replaceArena(arena device.Buffer, capacity int) error {
	if s.arena != nil {
		if err := s.arena.Free(); err != nil {
			return errors.Join(err, arena.Free())
		}
	}
	s.arena, s.capacity = arena, capacity
	s.renew()
	return nil
}

// renew makes all steps run again.
func (s *state) renew() { s.batch, s.pending[perCompile] = 0, true }

// locate points values at their places in an arena that Go kernels can address.
func locate(values []*value, arena []byte) {
	for _, v := range values {
		v.mem = arena[v.off : v.off+v.size : v.off+v.size]
	}
}

// shareStorage points values at the storage of their bases, and reads of variables at the memory that read returns. Views of
// feeds are set for each run.
func (s *state) shareStorage(read func(v *variable) []byte) {
	s.feedViews = s.feedViews[:0]
	for _, o := range s.ops {
		for _, v := range o.out {
			base := v.base()
			if base.home == inVariable && base == v {
				v.mem = read(o.reads)
			}
			if base.home == inFeed && base != v {
				s.feedViews = append(s.feedViews, v)
			}
			v.mem = base.mem
		}
	}
}

// close frees the memory and the stream.
func (s *state) close() error {
	var errs []error
	for _, b := range []device.Buffer{s.consts, s.arena} {
		if b != nil {
			errs = append(errs, b.Free())
		}
	}
	s.consts, s.arena = nil, nil
	if c, ok := s.stream.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
