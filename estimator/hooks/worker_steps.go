package hooks

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"
)

// WorkerStep is the time that a step takes one worker, without waiting for others.
type WorkerStep struct {
	Worker string // "worker_1"
	Secs   float64
}

// WorkerTimer is a Run that several workers share: training in a cluster.
type WorkerTimer interface {
	// WorkerSteps returns the times that workers have reported.
	WorkerSteps(ctx context.Context) ([]WorkerStep, error)
}

// WorkerSteps logs, on the chief of a cluster, the seconds per step of each worker, not
// counting waits for others. It names the workers that are much slower than the rest,
// and writes the summaries "workers/step_secs/worker_1" and so on.
type WorkerSteps struct {
	Base
	log   *slog.Logger
	timer *Timer
}

var (
	_ Tensorless  = (*WorkerSteps)(nil)
	_ Prioritized = (*WorkerSteps)(nil)
	_ Selective   = (*WorkerSteps)(nil)
)

// NewWorkerSteps returns a hook that reports every n steps.
func NewWorkerSteps(log *slog.Logger, every int64) *WorkerSteps {
	return &WorkerSteps{log: log, timer: NewTimer(Every{Steps: every})}
}

// Priority is PriorityWrite.
func (h *WorkerSteps) Priority() int { return PriorityWrite }

// Tensorless says that the hook reads no tensors.
func (h *WorkerSteps) Tensorless() {}

// Reads is false: it takes no tensors.
func (h *WorkerSteps) Reads(Run) bool { return false }

// askTime bounds how long training waits for the workers' times.
const askTime = time.Second

// AfterRun reports the workers' times if it is time.
func (h *WorkerSteps) AfterRun(ctx context.Context, r Run) error {
	step := r.GlobalStep()
	if !h.timer.ShouldTrigger(step) {
		return nil
	}
	passed, _ := h.timer.Trigger(step)
	w, ok := r.(WorkerTimer)
	if !ok || passed == 0 { // the first step is slow for other reasons
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	all, err := w.WorkerSteps(ctx)
	if err != nil || len(all) < 2 {
		return nil // problems of the cluster are reported elsewhere
	}
	h.line(all)
	return h.write(step, all, r)
}

// maxWorkers bounds the number of workers that a line names.
const maxWorkers = 16

// line logs the times. If there are many, the greatest come first.
func (h *WorkerSteps) line(all []WorkerStep) {
	shown, more := all, ""
	if n := len(all) - maxWorkers; n > 0 {
		shown, more = slowest(all)[:maxWorkers], fmt.Sprintf(" and %d faster ones", n)
	}
	var parts []string
	for _, w := range shown {
		parts = append(parts, w.Worker+" "+number(w.Secs))
	}
	attrs := []any{"workers", strings.Join(parts, ", ") + more}
	if s := stragglers(all); len(s) > 0 {
		attrs = append(attrs, "stragglers", strings.Join(s, ", "))
	}
	h.log.Info("seconds per step of each worker", attrs...)
}

func (h *WorkerSteps) write(step int64, all []WorkerStep, r Run) error {
	s, ok := r.(Summarizer)
	if !ok || s.Events() == nil {
		return nil
	}
	for _, w := range all {
		if err := s.Events().Scalar(step, "workers/step_secs/"+w.Worker, w.Secs); err != nil {
			return err
		}
	}
	return nil
}

// stragglerFactor is how many times slower than the median a straggler is.
const stragglerFactor = 1.5

// stragglers returns the workers that take more than 1.5 times the median of the reported
// times, the slowest first. For an even number the median is the lower middle one.
func stragglers(all []WorkerStep) []string {
	var known []WorkerStep
	for _, w := range all {
		if w.Secs > 0 && !math.IsInf(w.Secs, 1) {
			known = append(known, w)
		}
	}
	known = slowest(known)
	if len(known) < 2 {
		return nil
	}
	limit := stragglerFactor * known[len(known)/2].Secs
	var out []string
	for _, w := range known {
		if w.Secs > limit {
			out = append(out, w.Worker)
		}
	}
	return out
}

// slowest returns the workers with the greatest times first.
func slowest(all []WorkerStep) []WorkerStep {
	return slices.SortedStableFunc(slices.Values(all), func(a, b WorkerStep) int { return cmp.Compare(b.Secs, a.Secs) })
}
