package distribute

import (
	"context"
	"errors"
	"fmt"
)

// aheadStep is a localStepper on an accelerator. The next batches are copied while the current one is computed, and an
// unread step is not waited for.
type aheadStep struct {
	*localStepper
	ahead  aheadQueue
	alone  bool  // the host reads nothing during a run
	global int64 // global step after the last step; 0: unknown
}

var (
	_ Uploader = (*aheadStep)(nil)
	_ Enqueuer = (*aheadStep)(nil)
)

// Ahead implements Prefetcher.
func (s *aheadStep) Ahead() int { return stepsAhead }

// Prefetch begins to copy the batch of a coming step.
func (s *aheadStep) Prefetch(_ context.Context, batches []Batch) error {
	if len(batches) != 1 {
		return nil // the end of the input
	}
	return s.ahead.prefetch(batches[0])
}

// Forget implements Uploader.
func (s *aheadStep) Forget() error { return s.ahead.forget() }

// Enqueues reports whether the accelerator can run a step without the host.
func (s *aheadStep) Enqueues() bool { return s.step >= 0 && s.alone && len(s.program.HostSteps()) == 0 }

// Step runs the program or, if the step is unread, only enqueues it on the accelerator.
func (s *aheadStep) Step(ctx context.Context, in Step) (Outcome, error) {
	if len(in.Batches) != 1 {
		return Outcome{}, fmt.Errorf("step: expected one batch, got %d", len(in.Batches))
	}
	a, err := s.ahead.take(in.Batches[0])
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

// Close frees the program once the accelerator is done with it.
func (s *aheadStep) Close() error {
	return errors.Join(s.Forget(), s.program.Wait(), s.localStepper.Close())
}
