package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
)

// aheadStep is a localStepper on an accelerator: the next batch is copied to it while the present one is computed, and
// nobody waits for a step of which nobody reads anything.
type aheadStep struct {
	*localStepper
	now, next copied
	alone     bool  // the host looks at nothing during a run
	global    int64 // step after the last one; 0: not known
}

// copied is a batch on its way to the accelerator; the zero value is none.
type copied struct {
	ahead *engine.Ahead
	of    []*graph.Tensor
}

var (
	_ Prefetcher = (*aheadStep)(nil)
	_ Enqueuer   = (*aheadStep)(nil)
)

// drop gives a batch up.
func (c *copied) drop() error {
	a := c.ahead
	*c = copied{}
	if a == nil {
		return nil
	}
	return a.Drop()
}

// is reports whether the batch is b: the caller keeps the list of feeds unchanged.
func (c *copied) is(b Batch) bool {
	return c.ahead != nil && len(c.of) == len(b.Feeds) && (len(c.of) == 0 || &c.of[0] == &b.Feeds[0])
}

// Prefetch begins to copy the batch of the step after the one that comes now.
func (s *aheadStep) Prefetch(_ context.Context, batches []Batch) error {
	if err := s.next.drop(); err != nil || len(batches) != 1 {
		return err
	}
	b := batches[0]
	a, err := s.program.Ahead(b.Rows, b.Feeds)
	if err != nil {
		return err
	}
	s.next = copied{a, b.Feeds}
	return nil
}

// Enqueues reports whether the accelerator can do a step by itself.
func (s *aheadStep) Enqueues() bool { return s.step >= 0 && s.alone && len(s.program.HostSteps()) == 0 }

// Step runs the program or, where nobody reads anything of it, leaves that to the accelerator.
func (s *aheadStep) Step(ctx context.Context, in Step) (Outcome, error) {
	if len(in.Batches) != 1 {
		return Outcome{}, fmt.Errorf("step: expected one batch, got %d", len(in.Batches))
	}
	b := in.Batches[0]
	a := s.now.ahead
	if s.now.is(b) {
		s.now = copied{}
	} else {
		err := s.now.drop()
		if err == nil {
			a, err = s.program.Ahead(b.Rows, b.Feeds)
		}
		if err != nil {
			return Outcome{}, err
		}
	}
	s.now, s.next = s.next, copied{}
	if in.Quiet && s.global > 0 {
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
	return errors.Join(s.now.drop(), s.next.drop(), s.program.Wait(), s.localStepper.Close())
}
