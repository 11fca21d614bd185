package hooks

import (
	"context"
	"fmt"
	"log/slog"
	"math"

	"github.com/goestimator/goestimator/internal/format/summary"
)

// EarlyStopping ends training when a condition holds. It checks the condition when
// training begins and then at intervals.
type EarlyStopping struct {
	Base
	condition func() (reason string, err error) // "": continue
	timer     *Timer
	watch     *Watch // nil: the condition is the caller's own
}

var (
	_ Selective   = (*EarlyStopping)(nil)
	_ Watcher     = (*EarlyStopping)(nil)
	_ Prioritized = (*EarlyStopping)(nil)
)

// defaultLook is how often a condition is checked by default, as in tf.estimator.
var defaultLook = Every{Secs: 60}

// NewEarlyStopping returns a hook that ends training with the reason that condition returns, once it is not "". The default of every is 60 seconds.
func NewEarlyStopping(every Every, condition func() (reason string, err error)) (*EarlyStopping, error) {
	if err := every.Validate(); err != nil {
		return nil, fmt.Errorf("early stopping: %w", err)
	}
	if every == (Every{}) {
		every = defaultLook
	}
	return &EarlyStopping{condition: condition, timer: NewTimer(every)}, nil
}

// Priority is PriorityStop: the condition comes after evaluators and checkpoints, and so sees the evaluation of the same step.
func (h *EarlyStopping) Priority() int { return PriorityStop }

// AfterCreateSession checks the condition: a restarted run may have stopped before.
func (h *EarlyStopping) AfterCreateSession(_ context.Context, r Run) error { return h.check(r) }

// Reads is false: conditions look at evaluations.
func (h *EarlyStopping) Reads(Run) bool { return false }

// AfterRun checks the condition if it is time.
func (h *EarlyStopping) AfterRun(_ context.Context, r Run) error {
	if !h.timer.ShouldTrigger(r.GlobalStep()) {
		return nil
	}
	return h.check(r)
}

// Watches returns the metric that the condition depends on, if known.
func (h *EarlyStopping) Watches() (Watch, bool) {
	if h.watch == nil {
		return Watch{}, false
	}
	return *h.watch, true
}

func (h *EarlyStopping) check(r Run) error {
	h.timer.Trigger(r.GlobalStep())
	reason, err := h.condition()
	if err != nil {
		return fmt.Errorf("early stopping: %w", err)
	}
	if reason != "" {
		r.RequestStop(reason)
	}
	return nil
}

// Watch names a metric in the events of evaluations.
type Watch struct {
	EvalDir        string // folder of the events
	Metric         string
	HigherIsBetter bool
	MinSteps       int64 // evaluations of earlier steps do not count
	Every          Every // how often to look; zero: every 60 seconds
}

// Watcher is a hook that may use a metric of evaluations.
type Watcher interface {
	Hook
	// Watches returns the metric, and whether there is one.
	Watches() (Watch, bool)
}

// stopWhen returns the hook for a condition on the metric's evaluations.
func (w Watch) stopWhen(condition func() (reason string, err error)) (*EarlyStopping, error) {
	h, err := NewEarlyStopping(w.Every, condition)
	if err != nil {
		return nil, err
	}
	h.watch = &w
	return h, nil
}

// NewStopIfBetter returns a hook that ends training once any evaluation is strictly
// better than the threshold: above it, or below it if lower is better.
func NewStopIfBetter(w Watch, threshold float64) (*EarlyStopping, error) {
	return w.stopWhen(func() (string, error) {
		for _, e := range w.history() {
			if w.better(e.value, threshold) {
				return fmt.Sprintf("%s %g at step %d passed %g", w.Metric, e.value, e.step, threshold), nil
			}
		}
		return "", nil
	})
}

// NewStopIfNoImprovement returns a hook that ends training once the best evaluation is maxSteps steps old.
func NewStopIfNoImprovement(w Watch, maxSteps int64) (*EarlyStopping, error) {
	if maxSteps <= 0 {
		return nil, fmt.Errorf("early stopping: max steps without improvement must be > 0, given: %d", maxSteps)
	}
	return w.stopWhen(func() (string, error) {
		history := w.history()
		if len(history) == 0 {
			return "", nil
		}
		best := history[0]
		for _, e := range history {
			if w.better(e.value, best.value) || math.IsNaN(best.value) {
				best = e
			}
			if e.step-best.step >= maxSteps {
				return fmt.Sprintf("%s did not improve on %g of step %d for %d steps", w.Metric, best.value, best.step, e.step-best.step), nil
			}
		}
		return "", nil
	})
}

type evaluated struct {
	step  int64
	value float64
}

// history returns the metric's evaluations in order of steps.
func (w Watch) history() []evaluated {
	all, err := summary.ReadScalars(w.EvalDir)
	if err != nil {
		// Use what could be read: a crash may have truncated a file.
		slog.Warn("early stopping: some evaluations could not be read", "dir", w.EvalDir, "error", err)
	}
	var out []evaluated
	for _, step := range all.Steps() {
		if v, ok := all[step][w.Metric]; ok && step >= w.MinSteps {
			out = append(out, evaluated{step, v})
		}
	}
	return out
}

func (w Watch) better(a, b float64) bool {
	if w.HigherIsBetter {
		return a > b
	}
	return a < b
}
