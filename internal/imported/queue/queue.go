package queue

import (
	"context"
	"fmt"
)

// Queue is a queue that serves callers first come, first served. It is safe for concurrent use.
type Queue struct {
	name string
	spec Spec

	place
	elements store
	closed   bool
	puts     []*attempt // calls that wait to enqueue, or to close after them
	takes    []*attempt // calls that wait for elements
}

// New returns an empty queue. The name is for error messages.
func New(name string, s Spec) *Queue {
	q := &Queue{name: name, spec: s, elements: newStore(s)}
	q.flush = func() {
		for moved := true; moved; {
			moved = serve(&q.puts)
			moved = serve(&q.takes) || moved
		}
	}
	return q
}

// Name returns the name of the queue.
func (q *Queue) Name() string { return q.name }

// Spec returns what the queue holds. The slices must not be changed.
func (q *Queue) Spec() Spec { return q.spec }

// Size returns the number of elements.
func (q *Queue) Size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.elements.len()
}

// Closed reports whether the queue is closed.
func (q *Queue) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Enqueue adds elements, one after the other, and waits while the queue is full. If it fails with ErrLimit or the error
// of ctx, or because the queue is closed meanwhile, the elements already added stay.
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
			return finished, &Error{ErrCancelled, q.title() + " is closed."}
		}
		moved := stuck
		for ; len(elements) > 0 && q.elements.len() < q.spec.Capacity; elements = elements[1:] {
			if err := q.spec.Room.take(q.title(), elements[0].bytes()); err != nil {
				return finished, err
			}
			q.elements.push(elements[0])
			moved = some
		}
		if len(elements) == 0 {
			moved = finished
		}
		return moved, nil
	}})
}

// Dequeue removes n elements, and waits for them. From a closed queue with fewer elements it takes all if upTo is set, else none.
// Elements are taken as they come, so n may exceed the capacity; on failure they are put back. A Priority queue gives all n
// at once, since later elements may sort before others.
func (q *Queue) Dequeue(ctx context.Context, n int, upTo bool) ([]Element, error) {
	if n <= 0 {
		return nil, nil
	}
	d := &dequeue{q: q, n: n, upTo: upTo, many: n > 1}
	if err := q.wait(ctx, &q.takes, &attempt{try: d.try, undo: d.undo}); err != nil {
		return nil, err
	}
	return d.taken, nil
}

// dequeue is a call of Dequeue. The queue's mutex is held.
type dequeue struct {
	q     *Queue
	n     int
	upTo  bool
	many  bool
	taken []Element
}

func (d *dequeue) undo() {
	d.q.elements.putBack(d.taken)
	d.taken = nil
}

func (d *dequeue) try() (progress, error) {
	q := d.q
	has := q.elements.len()
	if q.closed && has < d.n-len(d.taken) {
		if !d.upTo || has+len(d.taken) == 0 {
			if d.upTo && len(q.puts) > 0 {
				return some, nil
			}
			err := q.insufficient(d.n-len(d.taken), has, d.many)
			d.undo()
			return finished, err
		}
		d.n = has + len(d.taken)
	}
	if !q.closed {
		has -= q.spec.Keep
	}
	if q.spec.Kind == Priority && has < d.n {
		return stuck, nil
	}
	moved := stuck
	for ; has > 0 && len(d.taken) < d.n; has-- {
		d.taken = append(d.taken, q.elements.pop())
		moved = some
	}
	if len(d.taken) < d.n {
		return moved, nil
	}
	for _, e := range d.taken {
		q.spec.Room.give(e.bytes())
	}
	return finished, nil
}

// Discard ends all waiting calls, and drops the elements. It is called when nobody can find the queue any more.
func (q *Queue) Discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancelPuts()
	for _, a := range q.takes {
		if a.undo != nil {
			a.undo()
		}
		a.finish(&Error{ErrCancelled, "Dequeue operation was cancelled"})
	}
	q.takes = nil
	for q.elements.len() > 0 {
		q.spec.Room.give(q.elements.pop().bytes())
	}
}

// cancelPuts cancels the enqueues that wait. The mutex is held.
func (q *Queue) cancelPuts() {
	q.closed = true
	for _, a := range q.puts {
		a.finish(&Error{ErrCancelled, "Enqueue operation was cancelled"})
	}
	q.puts = nil
}

// Close closes the queue: it accepts no more elements. It waits for pending enqueues, or cancels them.
func (q *Queue) Close(ctx context.Context, cancelEnqueues bool) error {
	if cancelEnqueues {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.cancelPuts()
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

func (q *Queue) title() string { return fmt.Sprintf("%s '%s'", q.spec.Kind.base(), q.name) }

// insufficient is the error of a closed queue with too few elements.
func (q *Queue) insufficient(requested, has int, many bool) error {
	kind := q.spec.Kind.base()
	if many {
		kind = q.spec.Kind.String()
	}
	return &Error{ErrOutOfRange, fmt.Sprintf("%s '%s' is closed and has insufficient elements (requested %d, current size %d)", kind, q.name, requested, has)}
}
