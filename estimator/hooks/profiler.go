package hooks

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// NodeTime is the time that one node of the program took, over all steps so far.
type NodeTime struct {
	Node, Op string
	Count    int // how often it ran
	Total    time.Duration
	// Flops are the floating-point operations of matrix products and convolutions, and
	// Bytes the bytes of operands, results and variables, of each run.
	Flops, Bytes int64
}

// NodeProfiler is a Setup and Run that can time the nodes of its program: ask for
// times in Begin, read them after steps.
type NodeProfiler interface {
	ProfileNodes()
	NodeTimes() []NodeTime
}

// Profiler writes timeline-<step>.json at intervals of steps or seconds: how that step
// spent its time, in Chrome's trace format, which chrome://tracing and Perfetto open. It
// skips the first step.
type Profiler struct {
	Base
	dir   string
	timer *Timer
	trace *Trace    // of the step that is profiled; nil for other steps
	last  time.Time // end of the previous step
}

var _ Hook = (*Profiler)(nil)

// NewProfiler returns a hook that writes to dir, and creates it if necessary.
func NewProfiler(dir string, every Every) (*Profiler, error) {
	if err := every.Validate(); err != nil {
		return nil, fmt.Errorf("profiler: %w", err)
	}
	if every == (Every{}) {
		return nil, fmt.Errorf("profiler: expected an interval of steps or seconds, got neither")
	}
	return &Profiler{dir: dir, timer: NewTimer(every)}, nil
}

// Begin asks for the times of nodes.
func (h *Profiler) Begin(s Setup) error {
	if p, ok := s.(NodeProfiler); ok {
		p.ProfileNodes()
	}
	return nil
}

// AfterCreateSession starts the timer, so that the first step is skipped.
func (h *Profiler) AfterCreateSession(_ context.Context, r Run) error {
	h.timer.Trigger(r.GlobalStep() + 1)
	h.last = time.Now()
	return atomicfile.MkdirAll(atomicfile.OS{}, h.dir)
}

// BeforeRun begins to profile if it is time.
func (h *Profiler) BeforeRun(_ context.Context, r Run) error {
	h.trace = nil
	if h.timer.ShouldTrigger(r.GlobalStep() + 1) {
		h.trace = BeginTrace(r, h.last)
	}
	return nil
}

// AfterRun writes the profile of a step that was profiled.
func (h *Profiler) AfterRun(_ context.Context, r Run) error {
	defer func() { h.last = time.Now() }()
	if h.trace == nil {
		return nil
	}
	h.trace.End(r)
	step := r.GlobalStep()
	h.timer.Trigger(step)
	return h.trace.WriteFile(filepath.Join(h.dir, fmt.Sprintf("timeline-%d.json", step)))
}
