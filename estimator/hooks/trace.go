package hooks

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Trace records how one step spent its time, node by node. The loop must time its
// nodes: see NodeProfiler.
type Trace struct {
	before map[string]time.Duration // times of the nodes
	begun  time.Time
	events []traceEvent
}

// BeginTrace begins the trace of the next step. The time since last, the end of the
// previous step, is shown as the time of input and hooks.
func BeginTrace(r Run, last time.Time) *Trace {
	t := &Trace{before: map[string]time.Duration{}}
	for _, n := range nodeTimes(r) {
		t.before[n.Node] = n.Total
	}
	t.begun = time.Now()
	t.events = []traceEvent{span("input and hooks", "loop", last, t.begun.Sub(last))}
	return t
}

// End ends the step. The nodes are shown one after the other.
func (t *Trace) End(r Run) {
	t.events = append(t.events, span("step", "loop", t.begun, time.Since(t.begun)))
	at := t.begun
	for _, n := range nodeTimes(r) {
		d := n.Total - t.before[n.Node]
		if d == 0 { // it did not run
			continue
		}
		e := span(n.Node, n.Op, at, d)
		e.Thread = 2
		t.events = append(t.events, e)
		at = at.Add(d)
	}
}

// WriteFile writes the trace in Chrome's trace format, which chrome://tracing and
// Perfetto open. It creates the file's folder if necessary.
func (t *Trace) WriteFile(path string) error {
	b, err := json.Marshal(map[string]any{"traceEvents": t.events, "displayTimeUnit": "ms"})
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	if err := atomicfile.MkdirAll(atomicfile.OS{}, filepath.Dir(path)); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return atomicfile.WriteFile(atomicfile.OS{}, path, b)
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
