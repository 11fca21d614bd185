package distribute

import (
	"context"
	"errors"
)

// prefetchingStep fetches the next batch's rows while a step runs. They may miss the
// updates that this step pushes, which asynchronous training allows.
type prefetchingStep struct {
	*workerStep
	other   workerLookups // takes turns with workerStep's lookups
	next    []Batch
	arrived chan error // the result of fetching into other; nil: no fetch is in progress
}

var _ Prefetcher = (*prefetchingStep)(nil)

func newPrefetchingStep(s *workerStep) (*prefetchingStep, error) {
	other, err := newWorkerLookups(s.train.Program, s.lookups.list(), len(s.lookups))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p := &prefetchingStep{workerStep: s, other: other}
	s.strategy.forget[s] = p.forget
	return p, nil
}

// forget drops the batches in flight, since the input moved to another position.
func (s *prefetchingStep) forget() {
	s.workerStep.forget()
	s.next = nil
	if s.arrived != nil {
		_ = s.await()
	}
}

// Ahead is one: rows that were fetched earlier would miss more updates.
func (s *prefetchingStep) Ahead() int { return 1 }

// Prefetch records the batches of the next step. The current step fetches their rows.
func (s *prefetchingStep) Prefetch(_ context.Context, batches []Batch) error {
	s.next = batches
	return nil
}

// Step uses the rows that were fetched during the previous step, and fetches the next ones.
func (s *prefetchingStep) Step(ctx context.Context, in Step) (Outcome, error) {
	next := s.next
	s.next = nil
	if s.arrived == nil {
		if err := s.lookups.pull(ctx, s.strategy.client, in.Batches); err != nil {
			return Outcome{}, recoverable(ctx, err)
		}
	} else {
		err := s.await()
		s.lookups, s.other = s.other, s.lookups
		if err != nil {
			return Outcome{}, recoverable(ctx, err)
		}
	}
	if len(next) > 0 {
		s.arrived = make(chan error, 1)
		go func(l workerLookups) { s.arrived <- l.pull(ctx, s.strategy.client, next) }(s.other)
	}
	out, err := s.run(ctx, in)
	if err != nil && s.arrived != nil {
		// If the loop continues, it does so at another position of the input.
		err = errors.Join(err, s.await())
	}
	return out, err
}

// await waits for the fetch in progress.
func (s *prefetchingStep) await() error {
	err := <-s.arrived
	s.arrived = nil
	return err
}

// Close frees the programs.
func (s *prefetchingStep) Close() error {
	s.forget()
	return errors.Join(s.workerStep.Close(), s.other.close())
}
