package dataflow

import (
	"context"
	"time"
)

const (
	// costlyTime is the run time from which on a node is worth its own goroutine.
	costlyTime = 5 * time.Microsecond
	// The time of nodes is measured in the first runs, and in every measured-th run.
	firstMeasured, measured = 4, 16
)

// queue holds tasks, first in, first out.
type queue struct {
	tasks []task
	next  int
}

func (q *queue) len() int { return len(q.tasks) - q.next }

// push adds a task. The room of removed tasks is reused: in a long loop the queue may never be empty.
func (q *queue) push(t task) {
	if len(q.tasks) == cap(q.tasks) && q.next > len(q.tasks)/2 {
		n := copy(q.tasks, q.tasks[q.next:])
		clear(q.tasks[n:])
		q.tasks, q.next = q.tasks[:n], 0
	}
	q.tasks = append(q.tasks, t)
}

func (q *queue) pop() task {
	t := q.tasks[q.next]
	q.tasks[q.next] = task{}
	if q.next++; q.next == len(q.tasks) {
		q.tasks, q.next = q.tasks[:0], 0
	}
	return t
}

// isCostly reports whether a node takes so long that it may run beside others. A node that has never run counts as costly.
func (n *node) isCostly() bool {
	took := time.Duration(n.took.Load())
	return n.role == ordinary && (took == 0 || took > costlyTime)
}

// note records how long the node took.
func (n *node) note(took time.Duration) {
	if before := time.Duration(n.took.Load()); before > 0 {
		took = (before + took) / 2
	}
	n.took.Store(int64(max(took, 1)))
}

// add makes a task ready. The mutex is held.
func (r *run) add(t task) {
	if !t.dead && r.p.nodes[t.node].isCostly() {
		r.costly.push(t)
	} else {
		r.cheap.push(t)
	}
}

// share starts workers for ready tasks, as many as may run. If the caller goes on, it takes one of these tasks itself. The mutex is held.
func (r *run) share(goesOn bool) {
	tasks := r.costly.len() - r.coming
	if r.cheap.len() > 0 {
		tasks++
	}
	if goesOn {
		tasks--
	}
	for ; tasks > 0 && r.workers < max(r.step.Parallel, 1); tasks-- {
		r.workers++
		r.coming++
		go func() {
			r.mu.Lock()
			r.coming--
			r.work(&room{})
			r.leave()
		}()
	}
}

// work runs tasks until none is ready. The mutex is held, except while a task runs.
func (r *run) work(m *room) {
	for r.cheap.len()+r.costly.len() > 0 {
		t := r.pop()
		switch {
		case r.err != nil:
			r.finish(t, nil, r.err)
		case r.p.nodes[t.node].blocks && !t.dead:
			r.meet(t, m)
		default:
			ctx := r.ctx
			if r.p.nodes[t.node].stops {
				ctx = r.untilError()
			}
			r.mu.Unlock()
			out, err := r.timed(ctx, t, m)
			r.mu.Lock()
			r.finish(t, out, err)
		}
		r.share(true)
	}
	r.workers--
}

// pop takes a ready task. Cheap ones come first, so that the values they send leave early. The mutex is held.
func (r *run) pop() task {
	if r.cheap.len() > 0 {
		return r.cheap.pop()
	}
	return r.costly.pop()
}

// meet runs a task that may wait, in its own goroutine, unless the item it receives has arrived. The mutex is held.
func (r *run) meet(t task, m *room) {
	n := &r.p.nodes[t.node]
	if from, ok := r.step.Rendezvous.(Taker); ok && n.role == recv && !r.traced() {
		if item, ok := from.Take(n.keyIn(t.at)); ok {
			m.tokens = grown(m.tokens, n.outputs)
			r.finish(t, m.tokens, r.receive(n, item, m.tokens))
			return
		}
	}
	r.waiting++
	go r.alone(r.untilError(), t)
}

// alone runs one task that may wait, and then the tasks that are ready because of it.
func (r *run) alone(ctx context.Context, t task) {
	m := &room{}
	out, err := r.observed(ctx, t, m)
	r.mu.Lock()
	r.waiting--
	r.finish(t, out, err)
	if r.workers < max(r.step.Parallel, 1) {
		r.workers++
		r.share(true)
		r.work(m)
	}
	r.leave()
}

// leave ends a goroutine of the run. Unlocking the mutex is its last action.
func (r *run) leave() {
	if r.workers+r.waiting == 0 {
		r.done <- struct{}{}
	}
	r.mu.Unlock()
}

// untilError returns a context that ends with the first error. The mutex is held.
func (r *run) untilError() context.Context {
	if r.cancel == nil {
		r.stoppable, r.cancel = context.WithCancelCause(r.ctx)
	}
	return r.stoppable
}

// fail ends the run with its first error. The mutex is held.
func (r *run) fail(err error) {
	if err != nil && r.err == nil {
		r.err = err
		if r.cancel != nil {
			r.cancel(err)
		}
	}
}

// finish passes on the outputs of a task. The mutex is held.
func (r *run) finish(t task, out []token, err error) {
	r.fail(err)
	if r.err != nil {
		return
	}
	ready, err := r.pass(t, out)
	r.fail(err)
	for _, t := range ready {
		r.add(t)
	}
	r.passed = ready[:0]
}

// timed is observed that occasionally measures how long a node takes.
func (r *run) timed(ctx context.Context, t task, m *room) ([]token, error) {
	n := &r.p.nodes[t.node]
	if n.role != ordinary || t.dead || r.number > firstMeasured && r.number%measured != 0 {
		return r.observed(ctx, t, m)
	}
	began := time.Now()
	out, err := r.observed(ctx, t, m)
	n.note(time.Since(began))
	return out, err
}
