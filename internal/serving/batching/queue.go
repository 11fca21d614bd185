package batching

import (
	"context"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// A request is one call of Run: one task, or several where it is split.
type request struct {
	ctx     context.Context
	feeds   map[string]*tensor.Tensor
	tasks   []*task
	pending int           // tasks that are not done; under the scheduler's lock
	done    chan struct{} // closed when none is pending
}

// A task is the rows [from, to) of a request.
type task struct {
	req      *request
	from, to int
	queued   time.Time
	wait     time.Duration
	batch    *batch
	elements int // of its feeds
	outputs  []*tensor.Tensor
	err      error

	// Under the scheduler's lock:
	abandoned bool          // its caller gave up while its batch ran
	ended     bool          // there are results, or an error
	feedsRead bool          // its batch reads the caller's feeds no more
	feedsFree chan struct{} // closed when feedsRead is set; nil: nobody waits
}

func (t *task) rows() int { return t.to - t.from }

// A batch is a group of tasks that run together. The scheduler's lock guards its fields until it has started.
type batch struct {
	queue   *queue
	tasks   []*task
	rows    int
	opened  time.Time
	timer   *time.Timer // wakes a worker when it has waited long enough; nil: none
	started bool
	waiting int             // callers that wait for it, once it started
	ctx     context.Context // of its run
	cancel  context.CancelFunc
	account *budget.Account // pays for the run; nil: not counted
}

// A queue holds the batches of one model that have the same input and output names. Only the last batch is open.
type queue struct {
	model   *Model
	key     string
	fetches []string // sorted, without doubles
	batches []*batch
}

// capacity is how many more rows the queue accepts, where tasks are split.
func (q *queue) capacity() int {
	p := q.model.p
	free := max(p.MaxEnqueuedBatches, 1) - len(q.batches)
	rows := max(free, 0) * p.BatchRows()
	if n := len(q.batches); n > 0 {
		rows += p.BatchRows() - q.batches[n-1].rows
	}
	return rows
}

// fits reports whether a task may be added unsplit.
func (q *queue) fits(rows int) bool {
	n := len(q.batches)
	if n == 0 || q.batches[n-1].rows+rows <= q.model.p.BatchRows() {
		return true
	}
	return n < q.model.p.MaxEnqueuedBatches
}

// add puts a task that fits into the open batch, or into a new one.
func (q *queue) add(t *task, wake func()) {
	n := len(q.batches)
	if n == 0 || q.batches[n-1].rows+t.rows() > q.model.p.BatchRows() {
		b := &batch{queue: q, opened: t.queued}
		if d := q.model.p.BatchTimeout; d > 0 {
			b.timer = time.AfterFunc(d, wake)
		}
		q.batches = append(q.batches, b)
		n++
	}
	b := q.batches[n-1]
	t.batch = b
	b.tasks = append(b.tasks, t)
	b.rows += t.rows()
}

// ready reports whether the first batch may be taken.
func (q *queue) ready(now time.Time, closing bool) bool {
	b := q.batches[0]
	return len(q.batches) > 1 || closing || b.rows >= q.model.p.BatchRows() || now.Sub(b.opened) >= q.model.p.BatchTimeout
}

// take removes the first batch.
func (q *queue) take() *batch {
	b := q.batches[0]
	q.drop(b)
	return b
}

// remove takes a task out of the queue.
func (q *queue) remove(t *task) {
	b := t.batch
	b.tasks = slices.DeleteFunc(b.tasks, func(o *task) bool { return o == t })
	b.rows -= t.rows()
	if len(b.tasks) == 0 {
		q.drop(b)
	}
}

func (q *queue) drop(b *batch) {
	if b.timer != nil {
		b.timer.Stop()
	}
	q.batches = slices.DeleteFunc(q.batches, func(o *batch) bool { return o == b })
}
