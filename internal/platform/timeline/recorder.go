package timeline

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBusy is the error for a capture during another one.
var ErrBusy = errors.New("another capture of this process is going on: expected one at a time; wait for its end")

// Recorder collects the events of a capture. It is safe for concurrent use.
type Recorder struct {
	start time.Time
	most  int

	mu      sync.Mutex
	ended   bool
	events  []Event
	dropped int
}

var (
	active atomic.Pointer[Recorder]
	tasks  atomic.Uint64
)

// Start begins a capture of at most that many events. Its error is ErrBusy.
func Start(most int) (*Recorder, error) {
	r := &Recorder{start: time.Now(), most: most}
	if !active.CompareAndSwap(nil, r) {
		return nil, ErrBusy
	}
	return r, nil
}

// Active returns the recorder of the running capture, or nil.
func Active() *Recorder { return active.Load() }

// End ends the capture and returns it, without events that have not ended. A second End returns nothing.
func (r *Recorder) End() Capture {
	active.CompareAndSwap(r, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Capture{Start: r.start, End: time.Now(), Events: r.events, Dropped: r.dropped}
	r.ended, r.events, r.dropped = true, nil, 0
	return c
}

// Add records a finished event.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
	case len(r.events) >= r.most:
		r.dropped++
	default:
		r.events = append(r.events, e)
	}
}

// taskKey is the key of a context's task.
type taskKey struct{}

// Begin begins an event, which end records if a capture is running. Events that begin within the returned context are parts of the same
// task. Begin uses the line, the name and the description in e.
func Begin(ctx context.Context, e Event) (within context.Context, end func()) {
	if Active() == nil {
		return ctx, nothing
	}
	return begin(ctx, e)
}

func nothing() {}

//go:noinline // so that Begin takes no memory without a capture
func begin(ctx context.Context, e Event) (within context.Context, end func()) {
	r := Active()
	if r == nil {
		return ctx, nothing
	}
	var known bool
	if e.Task, known = ctx.Value(taskKey{}).(uint64); !known {
		e.Task = tasks.Add(1)
		ctx = context.WithValue(ctx, taskKey{}, e.Task)
	}
	e.Start = time.Now()
	return ctx, func() {
		e.Duration = time.Since(e.Start)
		r.Add(e)
	}
}
