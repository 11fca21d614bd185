package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Queue is a queue: first in, first out. Who comes first is served first. It is safe for concurrent use.
type Queue struct {
	name string
	spec Spec

	mu       sync.Mutex
	elements []Element
	bytes    int
	closed   bool
	puts     []*attempt // what waits to put elements in, and to close behind these
	takes    []*attempt // what waits for elements
}

// New returns an empty queue. The name is for messages.
func New(name string, s Spec) *Queue { return &Queue{name: name, spec: s} }

// Name returns the name of the queue.
func (q *Queue) Name() string { return q.name }

// Spec returns what the queue holds. The slices must not be changed.
func (q *Queue) Spec() Spec { return q.spec }

// Size returns the number of elements.
func (q *Queue) Size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.elements)
}

// Closed reports whether the queue is closed.
func (q *Queue) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Enqueue puts elements in, one after the other, and waits while the queue is full. Where it fails with ErrLimit or the error
// of ctx, or because the queue is closed meanwhile, the elements that were put in stay.
func (q *Queue) Enqueue(ctx context.Context, elements ...Element) error {
	for _, e := range elements {
		if err := q.spec.check(e); err != nil {
			return err
		}
	}
	if len(elements) == 0 {
		return nil
	}
	return q.wait(ctx, &q.puts, &attempt{try: func() (progress, error) {
		if q.closed {
			return finished, q.fail(ErrCancelled, "is closed.")
		}
		moved := stuck
		for ; len(elements) > 0 && len(q.elements) < q.spec.Capacity; elements = elements[1:] {
			n := elements[0].bytes()
			if n > q.spec.Bytes-q.bytes {
				return finished, q.fail(ErrLimit, fmt.Sprintf("has elements of %d bytes: another %d exceed the limit of %d", q.bytes, n, q.spec.Bytes))
			}
			q.elements, q.bytes, moved = append(q.elements, elements[0]), q.bytes+n, some
		}
		if len(elements) == 0 {
			moved = finished
		}
		return moved, nil
	}})
}

// Dequeue takes n elements out, and waits for them. Of a closed queue with fewer elements it takes all where upTo, else none.
// Elements are taken as they come, so n may exceed the capacity; they are put back where it fails.
func (q *Queue) Dequeue(ctx context.Context, n int, upTo bool) ([]Element, error) {
	if n <= 0 {
		return nil, nil
	}
	var taken []Element
	a := &attempt{undo: func() {
		q.elements = slices.Concat(taken, q.elements)
		for _, e := range taken {
			q.bytes += e.bytes()
		}
		taken = nil
	}}
	a.try = func() (progress, error) {
		moved := stuck
		if left := len(q.elements); q.closed && left < n-len(taken) {
			if !upTo || left+len(taken) == 0 {
				if upTo && len(q.puts) > 0 {
					return some, nil
				}
				err := q.fail(ErrOutOfRange, fmt.Sprintf("is closed and has insufficient elements (requested %d, current size %d)", n-len(taken), left))
				a.undo()
				return finished, err
			}
			n = left + len(taken)
		}
		for ; len(taken) < n && len(q.elements) > 0; moved = some {
			taken = append(taken, q.elements[0])
			q.bytes -= q.elements[0].bytes()
			q.elements[0] = nil
			q.elements = q.elements[1:]
		}
		if len(taken) == n {
			moved = finished
		}
		return moved, nil
	}
	if err := q.wait(ctx, &q.takes, a); err != nil {
		return nil, err
	}
	return taken, nil
}

// Close closes the queue: no element comes in any more. It waits for what is about to put elements in, or cancels it.
func (q *Queue) Close(ctx context.Context, cancelEnqueues bool) error {
	if cancelEnqueues {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.closed = true
		for _, a := range q.puts {
			a.finish(&Error{ErrCancelled, "Enqueue operation was cancelled"})
		}
		q.puts = nil
		q.flush()
		return nil
	}
	return q.wait(ctx, &q.puts, &attempt{try: func() (progress, error) {
		if q.closed {
			return finished, &Error{ErrCancelled, fmt.Sprintf("Queue '%s' is already closed.", q.name)}
		}
		q.closed = true
		return finished, nil
	}})
}

func (q *Queue) fail(kind error, text string) error {
	return &Error{kind, fmt.Sprintf("FIFOQueue '%s' %s", q.name, text)}
}
