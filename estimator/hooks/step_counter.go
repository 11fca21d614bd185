package hooks

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/format/summary"
)

// StepCounter writes the summary "global_step/sec". In training it also writes "data_wait", the share of the time that the
// loop waited for its input, and "step_time/...", the shares of its other work (StepTimes). If the loop waits long, the text
// "data_wait/bottleneck" names the input's slowest step.
type StepCounter struct {
	Base
	timer *Timer
	waits dataWait
	spent spent
}

var (
	_ Hook        = (*StepCounter)(nil)
	_ Prioritized = (*StepCounter)(nil)
	_ Selective   = (*StepCounter)(nil)
)

// NewStepCounter returns a hook that measures over every n steps.
func NewStepCounter(every int64) *StepCounter {
	return &StepCounter{timer: NewTimer(Every{Steps: every}), waits: dataWait{now: time.Now}}
}

// Priority is PriorityWrite.
func (h *StepCounter) Priority() int { return PriorityWrite }

// AfterCreateSession begins to measure.
func (h *StepCounter) AfterCreateSession(_ context.Context, r Run) error {
	h.waits.begin(r)
	h.spent.begin(r, h.waits.now())
	return nil
}

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
	values := []*summary.Value{summary.Scalar("global_step/sec", float64(steps)/elapsed.Seconds())}
	if share, bottleneck, ok := h.waits.since(r); ok {
		values = append(values, summary.Scalar("data_wait", share))
		if bottleneck != "" {
			values = append(values, summary.Text("data_wait/bottleneck", bottleneck))
		}
	}
	values = append(values, h.spent.since(r, h.waits.now())...)
	return s.Events().Values(step, values...)
}
