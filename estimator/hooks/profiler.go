package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/internal/atomicfile"
)

// NodeTime is the time that one node of the program took, over all steps so far.
type NodeTime struct {
	Node, Op string
	Total    time.Duration
}

// NodeProfiler is a Setup and Run that can time the nodes of its program: ask
// in Begin, read after steps.
type NodeProfiler interface {
	ProfileNodes()
	NodeTimes() []NodeTime
}

// Profiler writes timeline-<step>.json every so many steps or seconds: what the
// time of that step went to, in Chrome's trace format, which chrome://tracing
// and Perfetto open. The first step is left out.
type Profiler struct {
	Base
	dir    string
	timer  *Timer
	before map[string]time.Duration // of the nodes, before the step that is profiled; nil for other steps
	begun  time.Time
	last   time.Time // end of the step before
}

var _ Hook = (*Profiler)(nil)

// NewProfiler returns a hook that writes to dir, which it makes where necessary.
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

// AfterCreateSession starts the clock, so that the first step is left out.
func (h *Profiler) AfterCreateSession(_ context.Context, r Run) error {
	h.timer.Trigger(r.GlobalStep() + 1)
	h.last = time.Now()
	return atomicfile.OS{}.MkdirAll(h.dir)
}

// BeforeRun begins to profile if it is time.
func (h *Profiler) BeforeRun(_ context.Context, r Run) error {
	h.before = nil
	if !h.timer.ShouldTrigger(r.GlobalStep() + 1) {
		return nil
	}
	h.before = map[string]time.Duration{}
	for _, n := range nodeTimes(r) {
		h.before[n.Node] = n.Total
	}
	h.begun = time.Now()
	return nil
}

// AfterRun writes the profile of a step that was profiled.
func (h *Profiler) AfterRun(_ context.Context, r Run) error {
	now := time.Now()
	defer func() { h.last = time.Now() }()
	if h.before == nil {
		return nil
	}
	step := r.GlobalStep()
	h.timer.Trigger(step)
	events := []traceEvent{span("input and hooks", "loop", h.last, h.begun.Sub(h.last)), span("step", "loop", h.begun, now.Sub(h.begun))}
	at := h.begun
	for _, n := range nodeTimes(r) {
		d := n.Total - h.before[n.Node]
		e := span(n.Node, n.Op, at, d)
		e.Thread = 2
		events = append(events, e)
		at = at.Add(d)
	}
	b, err := json.Marshal(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
	if err != nil {
		return fmt.Errorf("profiler: %w", err)
	}
	return atomicfile.WriteFile(atomicfile.OS{}, filepath.Join(h.dir, fmt.Sprintf("timeline-%d.json", step)), b)
}

func nodeTimes(r Run) []NodeTime {
	if p, ok := r.(NodeProfiler); ok {
		return p.NodeTimes()
	}
	return nil
}

// traceEvent is a complete event ("X") of the trace event format.
type traceEvent struct {
	Name     string  `json:"name"`
	Category string  `json:"cat"`
	Phase    string  `json:"ph"`
	Start    float64 `json:"ts"`  // microseconds
	Duration float64 `json:"dur"` // microseconds
	Process  int     `json:"pid"`
	Thread   int     `json:"tid"`
}

func span(name, category string, start time.Time, d time.Duration) traceEvent {
	return traceEvent{Name: name, Category: category, Phase: "X", Start: float64(start.UnixNano()) / 1e3,
		Duration: float64(d.Nanoseconds()) / 1e3, Process: 1, Thread: 1}
}
