package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// aheadStep is a localStepper on an accelerator: the next batches are copied to it while the present one is computed, and
// nobody waits for a step that nobody reads.
type aheadStep struct {
	*localStepper
	queue  []copied // prefetched batches, in their order
	alone  bool     // the host looks at nothing during a run
	global int64    // step after the last one; 0: not known
}

// stepsAhead is how many batches are copied beside the one that is computed.
const stepsAhead = 2

// copied is a batch on its way to the accelerator.
type copied struct {
	ahead *engine.Ahead
	of    []*tensor.Tensor
}

var (
	_ Prefetcher = (*aheadStep)(nil)
	_ Enqueuer   = (*aheadStep)(nil)
)

// is reports whether the batch is b: the caller keeps the list of feeds unchanged.
func (c copied) is(b Batch) bool {
	return len(c.of) == len(b.Feeds) && (len(c.of) == 0 || &c.of[0] == &b.Feeds[0])
}

// Ahead implements Prefetcher.
func (s *aheadStep) Ahead() int { return stepsAhead }

// Prefetch begins to copy the batch of a step that comes.
func (s *aheadStep) Prefetch(_ context.Context, batches []Batch) error {
	if len(batches) != 1 || len(s.queue) > stepsAhead {
		return nil // the end of the input; or nobody made the steps
	}
	b := batches[0]
	a, err := s.program.Ahead(b.Rows, b.Feeds)
	if err != nil {
		return err
	}
	s.queue = append(s.queue, copied{a, b.Feeds})
	return nil
}

// take returns the prefetched batch, or copies the batch to the accelerator now. Batches prefetched before it
// are dropped.
func (s *aheadStep) take(b Batch) (*engine.Ahead, error) {
	at := slices.IndexFunc(s.queue, func(c copied) bool { return c.is(b) })
	if at < 0 { // the first step's
		if err := s.drop(max(len(s.queue)-stepsAhead, 0)); err != nil {
			return nil, err
		}
		return s.program.Ahead(b.Rows, b.Feeds)
	}
	if err := s.drop(at); err != nil {
		return nil, err
	}
	a := s.queue[0].ahead
	s.queue = slices.Delete(s.queue, 0, 1)
	return a, nil
}

// drop drops the first n batches.
func (s *aheadStep) drop(n int) error {
	var errs []error
	for _, c := range s.queue[:n] {
		errs = append(errs, c.ahead.Drop())
	}
	s.queue = slices.Delete(s.queue, 0, n)
	return errors.Join(errs...)
}

// Enqueues reports whether the accelerator can do a step by itself.
func (s *aheadStep) Enqueues() bool { return s.step >= 0 && s.alone && len(s.program.HostSteps()) == 0 }

// Step runs the program or, where nobody reads anything of it, leaves that to the accelerator.
func (s *aheadStep) Step(ctx context.Context, in Step) (Outcome, error) {
	if len(in.Batches) != 1 {
		return Outcome{}, fmt.Errorf("step: expected one batch, got %d", len(in.Batches))
	}
	a, err := s.take(in.Batches[0])
	if err != nil {
		return Outcome{}, err
	}
	if in.Unread && s.global > 0 {
		if err := s.program.Enqueue(ctx, a); err != nil {
			return Outcome{}, err
		}
		s.global++
		return Outcome{GlobalStep: s.global, Applied: true, Stop: in.Stop}, nil
	}
	if err := s.program.RunAhead(ctx, a); err != nil || s.step < 0 {
		return Outcome{}, err
	}
	out := s.outcome(in)
	s.global = out.GlobalStep
	return out, nil
}

// Close frees the program when the accelerator is done with it.
func (s *aheadStep) Close() error {
	return errors.Join(s.drop(len(s.queue)), s.program.Wait(), s.localStepper.Close())
}
