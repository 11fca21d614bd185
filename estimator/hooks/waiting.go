package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// StopAtCheckpointStep ends training when the global step reaches a given step. Tasks
// other than the chief then wait until a checkpoint of at least that step is on disk.
type StopAtCheckpointStep struct {
	Base
	dir   string
	last  int64
	poll  time.Duration
	chief bool
}

var _ Selective = (*StopAtCheckpointStep)(nil)

// NewStopAtCheckpointStep returns a hook for the model in dir that looks for the
// checkpoint every poll.
func NewStopAtCheckpointStep(dir string, last int64, poll time.Duration) *StopAtCheckpointStep {
	return &StopAtCheckpointStep{dir: dir, last: last, poll: poll}
}

// Begin records whether this task writes the checkpoint itself.
func (h *StopAtCheckpointStep) Begin(s Setup) error { h.chief = s.IsChief(); return nil }

// AfterCreateSession asks to stop if the step has been reached.
func (h *StopAtCheckpointStep) AfterCreateSession(ctx context.Context, r Run) error {
	return h.AfterRun(ctx, r)
}

// Reads reports whether the next step is the last: other hooks report its tensors.
func (h *StopAtCheckpointStep) Reads(r Run) bool { return r.GlobalStep()+1 >= h.last }

// AfterRun asks to stop at the last step.
func (h *StopAtCheckpointStep) AfterRun(ctx context.Context, r Run) error {
	if r.GlobalStep() < h.last {
		return nil
	}
	if !h.chief {
		if err := wait(ctx, h.poll, h.saved); err != nil {
			return fmt.Errorf("waiting for the checkpoint of step %d: %w", h.last, err)
		}
	}
	r.RequestStop(stopMaxSteps)
	return nil
}

func (h *StopAtCheckpointStep) saved() bool {
	prefix, err := checkpoint.LatestPrefix(h.dir)
	if err != nil {
		return false
	}
	step, ok := checkpoint.StepOf(prefix)
	return ok && step >= h.last
}

// GlobalStepWaiter delays the first step until the model in dir has a checkpoint of at
// least a given step: a worker's delayed start.
type GlobalStepWaiter struct {
	Base
	until *StopAtCheckpointStep
	done  bool
}

var _ Selective = (*GlobalStepWaiter)(nil)

// NewGlobalStepWaiter returns a hook that waits for the step, and looks every poll.
func NewGlobalStepWaiter(dir string, step int64, poll time.Duration) *GlobalStepWaiter {
	return &GlobalStepWaiter{until: NewStopAtCheckpointStep(dir, step, poll)}
}

// Reads is false: it only waits.
func (h *GlobalStepWaiter) Reads(Run) bool { return false }

// BeforeRun waits, the first time.
func (h *GlobalStepWaiter) BeforeRun(ctx context.Context, r Run) error {
	if h.done || r.GlobalStep() >= h.until.last {
		return nil
	}
	h.done = true
	if err := wait(ctx, h.until.poll, h.until.saved); err != nil {
		return fmt.Errorf("waiting for global step %d: %w", h.until.last, err)
	}
	return nil
}

// wait polls until done or the context ends.
func wait(ctx context.Context, poll time.Duration, done func() bool) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}
