package hooks

import "context"

// StepCounter writes the summary "global_step/sec".
type StepCounter struct {
	Base
	timer *Timer
}

var (
	_ Hook        = (*StepCounter)(nil)
	_ Prioritized = (*StepCounter)(nil)
	_ Selective   = (*StepCounter)(nil)
)

// NewStepCounter returns a hook that measures over every n steps.
func NewStepCounter(every int64) *StepCounter {
	return &StepCounter{timer: NewTimer(Every{Steps: every})}
}

// Priority is that of writers.
func (h *StepCounter) Priority() int { return PriorityWrite }

// Reads is false: steps are only counted.
func (h *StepCounter) Reads(Run) bool { return false }

// AfterRun writes the rate if it is time.
func (h *StepCounter) AfterRun(_ context.Context, r Run) error {
	step := r.GlobalStep()
	if !h.timer.ShouldTrigger(step) {
		return nil
	}
	steps, elapsed := h.timer.Trigger(step)
	s, ok := r.(Summarizer)
	if !ok || steps == 0 || elapsed <= 0 {
		return nil
	}
	return s.Events().Scalar(step, "global_step/sec", float64(steps)/elapsed.Seconds())
}
