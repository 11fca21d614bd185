package remote

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// queue holds the waiting calls, and tracks the running ones.
type queue struct {
	limit int // of waiting calls

	mu        sync.Mutex
	changed   chan struct{} // closed at the next change; nil: nothing waits for it
	waiting   []*Value
	running   map[*Value]context.CancelCauseFunc
	resources []string // names of their makers, by number - 1
	err       error    // the first, until it is returned
	closed    bool
	losses    int // how often the variables were lost
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, running: map[*Value]context.CancelCauseFunc{}}
}

// wait waits for a change or the end of ctx; mu is held, but released meanwhile.
func (q *queue) wait(ctx context.Context) error {
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	changed := q.changed
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// change wakes all waiting goroutines; mu is held.
func (q *queue) change() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// raised returns the pending error once nothing is running, and clears it; mu is held.
func (q *queue) raised() error {
	if q.err == nil || len(q.running) > 0 {
		return nil
	}
	err := q.err
	q.err = nil
	q.change()
	return err
}

// put appends a call once there is room.
func (q *queue) put(ctx context.Context, c Call) (*Value, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := q.raised(); err != nil {
			return nil, err
		}
		switch {
		case q.closed:
			return nil, ErrClosed
		case q.err == nil && len(q.waiting) < q.limit:
			v := newValue(c)
			q.waiting = append(q.waiting, v)
			q.change()
			return v, nil
		}
		if err := q.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// join waits until no call is waiting or running.
func (q *queue) join(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := q.raised(); err != nil {
			return err
		}
		switch {
		case q.closed:
			return ErrClosed
		case q.idle():
			return nil
		}
		if err := q.wait(ctx); err != nil {
			return err
		}
	}
}

// idle reports whether all calls have ended and no error is pending; mu is held.
func (q *queue) idle() bool { return q.err == nil && len(q.waiting)+len(q.running) == 0 }

// done is join without waiting.
func (q *queue) done() (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.raised(); err != nil {
		return false, err
	}
	if q.closed {
		return false, ErrClosed
	}
	return q.idle(), nil
}

// addResource records a resource, which all workers make, and returns its number.
func (q *queue) addResource(maker string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resources = append(q.resources, maker)
	q.change()
	return len(q.resources)
}

// task is a worker's next task: it makes a resource, or runs a call.
type task struct {
	resource int // its number; 0: a call
	maker    string
	value    *Value
	ctx      context.Context // of the call: it ends if the call is cancelled
}

// errOutdated ends a session that began before the variables were lost, which its worker does not know yet.
var errOutdated = errors.New("the variables were lost since the session began")

// lost is how often the variables have been lost so far.
func (q *queue) lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.losses
}

// next waits for the next task of a worker that has made that many resources, in a session that began after that
// many losses.
func (q *queue) next(ctx context.Context, made, losses int) (task, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		switch {
		case q.closed:
			return task{}, ErrClosed
		case losses != q.losses:
			return task{}, errOutdated
		case made < len(q.resources):
			return task{resource: made + 1, maker: q.resources[made]}, nil
		case len(q.waiting) > 0:
			v := q.waiting[0]
			q.waiting[0], q.waiting = nil, q.waiting[1:]
			run, cancel := context.WithCancelCause(ctx)
			q.running[v] = cancel
			q.change() // there is room
			return task{value: v, ctx: run}, nil
		}
		if err := q.wait(ctx); err != nil {
			return task{}, err
		}
	}
}

// finish ends a running call. An error ends all others.
func (q *queue) finish(v *Value, result []*tensor.Tensor, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	cancelled := q.leave(v)
	switch {
	case err == nil:
		v.finish(result, nil)
	case cancelled:
		v.finish(nil, ErrCancelled)
	default:
		v.finish(nil, err)
		q.fail(err)
	}
}

// again requeues a call whose worker was lost. It returns how many workers the call has lost, or 0 if it was
// cancelled.
func (q *queue) again(v *Value) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.leave(v) {
		v.finish(nil, ErrCancelled)
		return 0
	}
	q.waiting = slices.Insert(q.waiting, 0, v)
	v.lost++
	return v.lost
}

// leave records that a call is no longer running, and reports whether it was cancelled; mu is held.
func (q *queue) leave(v *Value) bool {
	q.running[v](nil)
	delete(q.running, v)
	q.change()
	return q.err != nil || q.closed
}

// fail cancels everything for an error, which the next caller gets; mu is held.
func (q *queue) fail(err error) {
	q.err = err
	if errors.Is(err, ErrServersLost) {
		q.losses++
	}
	q.cancel()
}

// failCalls fails waiting and running calls for an error that is not a call's; without any, the error is dropped.
func (q *queue) failCalls(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil && !q.idle() {
		q.fail(err)
	}
}

// cancel ends all calls; mu is held.
func (q *queue) cancel() {
	for _, end := range q.running {
		end(ErrCancelled)
	}
	for _, v := range q.waiting {
		v.finish(nil, ErrCancelled)
	}
	q.waiting = nil
	q.change()
}

// close ends all calls, later ones too.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cancel()
}
