package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// noteEvery is how often the time spent is written, so that even a run that is killed
// repeatedly comes to its end.
const noteEvery = 30 * time.Second

// TimeLimit ends training after some time. It counts the time of earlier runs: the chief stores the time
// spent in model_dir/state.json, which has one writer.
type TimeLimit struct {
	Base
	dir   string
	limit time.Duration
	spent time.Duration // in earlier runs
	begun time.Time
	noted time.Time // when the time was last written
	now   func() time.Time
}

var (
	_ Hook        = (*TimeLimit)(nil)
	_ Prioritized = (*TimeLimit)(nil)
	_ Selective   = (*TimeLimit)(nil)
)

// NewTimeLimit returns a hook for the model in dir.
func NewTimeLimit(dir string, limit time.Duration) (*TimeLimit, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("time limit must be > 0, given: %v", limit)
	}
	return &TimeLimit{dir: dir, limit: limit, now: time.Now}, nil
}

// Priority is PriorityWrite: the hook comes before the checkpoint saver, so that the time that it writes belongs to the same step.
func (h *TimeLimit) Priority() int { return PriorityWrite }

// AfterCreateSession reads the time that earlier runs have spent.
func (h *TimeLimit) AfterCreateSession(_ context.Context, r Run) error {
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, h.dir)
	if err != nil {
		return err
	}
	h.spent = time.Duration(s.TrainSeconds * float64(time.Second))
	h.begun = h.now()
	h.noted = h.begun
	return h.check(r)
}

// Reads is false: the hook looks only at the clock.
func (h *TimeLimit) Reads(Run) bool { return false }

// AfterRun asks to stop when the time is up.
func (h *TimeLimit) AfterRun(_ context.Context, r Run) error { return h.check(r) }

func (h *TimeLimit) check(r Run) error {
	now := h.now()
	if h.spent+now.Sub(h.begun) >= h.limit {
		r.RequestStop("time_limit")
		return nil
	}
	if now.Sub(h.noted) < noteEvery {
		return nil
	}
	h.noted = now
	return h.note(r)
}

// End writes the time spent.
func (h *TimeLimit) End(_ context.Context, r Run) error { return h.note(r) }

// note writes the time spent, on the chief. Which task that is may change.
func (h *TimeLimit) note(r Run) error {
	if task, ok := r.(interface{ IsChief() bool }); ok && !task.IsChief() {
		return nil
	}
	return checkpoint.UpdateRunState(atomicfile.OS{}, h.dir, func(s *checkpoint.RunState) {
		s.TrainSeconds = (h.spent + h.now().Sub(h.begun)).Seconds()
	})
}
