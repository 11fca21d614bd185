package batching

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// BatchStats describes one batch that ran.
type BatchStats struct {
	Model   servable.ID
	Pool    string          // Options.Name of the scheduler
	Tasks   []int           // rows of each request
	Waits   []time.Duration // how long each request queued
	Rows    int             // rows of the requests together
	Padding int             // rows added to reach an allowed size
	Run     time.Duration   // of the model
	Err     error
}

// An Observer receives the statistics of each batch after it ran. It is called by several workers at once.
type Observer interface{ Batch(BatchStats) }

// Options of a Scheduler.
type Options struct {
	Threads  int      // workers; below 1: one
	Name     string   // of the pool of workers, for metrics
	Observer Observer // nil: none
}

// A Scheduler is the workers that run the batches of all models.
type Scheduler struct {
	opts    Options
	mu      sync.Mutex
	wake    *sync.Cond
	active  []*queue // that have batches; workers take from them in turn
	closed  bool
	workers sync.WaitGroup
}

// NewScheduler starts the workers; Close ends them.
func NewScheduler(o Options) *Scheduler {
	s := &Scheduler{opts: o}
	s.wake = sync.NewCond(&s.mu)
	for range max(o.Threads, 1) {
		s.workers.Go(s.work)
	}
	return s
}

// Close runs the waiting batches, ends the workers and refuses new requests.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	s.wake.Broadcast()
	s.mu.Unlock()
	s.workers.Wait()
}

// Queued returns how many rows wait in queues.
func (s *Scheduler) Queued() int { return s.queued(nil) }

// queued is Queued for one model; nil: for all.
func (s *Scheduler) queued(of *Model) (rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.active {
		if of != nil && q.model != of {
			continue
		}
		for _, b := range q.batches {
			rows += b.rows
		}
	}
	return rows
}

func (s *Scheduler) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		b := s.next(time.Now())
		switch {
		case b != nil:
			s.mu.Unlock()
			b.queue.model.process(b)
			s.mu.Lock()
		case s.closed:
			return
		default:
			s.wake.Wait()
		}
	}
}

// next takes a ready batch from the queue whose turn it is, and wakes another worker if another batch is ready.
func (s *Scheduler) next(now time.Time) *batch {
	ready := func(q *queue) bool { return q.ready(now, s.closed) }
	i := slices.IndexFunc(s.active, ready)
	if i < 0 {
		return nil
	}
	q := s.active[i]
	b := q.take()
	s.active = slices.Delete(s.active, i, i+1)
	if len(q.batches) > 0 {
		s.active = append(s.active, q)
	} else {
		delete(q.model.queues, q.key)
	}
	if slices.ContainsFunc(s.active, ready) {
		s.wake.Signal()
	}
	b.start(now)
	return b
}

// start makes the context of the batch's run: it has the latest deadline of its requests, and ends when the last caller
// gives up. Its values, such as a trace, come from the first request; the account belongs to all of them together.
func (b *batch) start(now time.Time) {
	b.started = true
	b.waiting = len(b.tasks)
	var last time.Time
	bounded := true
	for _, t := range b.tasks {
		t.wait = now.Sub(t.queued)
		d, ok := t.req.ctx.Deadline()
		bounded = bounded && ok
		if d.After(last) {
			last = d
		}
	}
	var accounts []*budget.Account
	for _, t := range b.tasks {
		accounts = append(accounts, budget.Of(t.req.ctx))
	}
	b.account = budget.Combine(accounts)
	ctx := budget.With(context.WithoutCancel(b.tasks[0].req.ctx), b.account)
	if bounded {
		b.ctx, b.cancel = context.WithDeadline(ctx, last)
	} else {
		b.ctx, b.cancel = context.WithCancel(ctx)
	}
	b.queue.model.running.Add(1)
}

// enqueue puts a request into its queue.
func (s *Scheduler) enqueue(m *Model, r *request, key string, fetches []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return status.Error(codes.Unavailable, "the batch scheduler is closed: the server is shutting down")
	}
	q := m.queues[key]
	fresh := q == nil
	if fresh {
		q = &queue{model: m, key: key, fetches: fetches}
	}
	if !q.split(r) {
		return status.Error(codes.Unavailable, "The batch scheduling queue to which this task was submitted is full")
	}
	now := time.Now()
	for _, t := range r.tasks {
		t.queued = now
		q.add(t, s.signal)
	}
	r.pending = len(r.tasks)
	if fresh {
		m.queues[key] = q
		s.active = append(s.active, q)
	}
	if q.ready(now, false) {
		s.wake.Signal()
	}
	return nil
}

func (s *Scheduler) signal() {
	s.mu.Lock()
	s.wake.Signal()
	s.mu.Unlock()
}

// split cuts the request's one task so that its parts fill batches; it returns false if the queue is full.
func (q *queue) split(r *request) bool {
	rows := r.tasks[0].to
	if !q.model.p.EnableLargeBatchSplitting {
		return q.fits(rows)
	}
	if rows > q.capacity() {
		return false
	}
	room := q.model.p.BatchRows()
	if n := len(q.batches); n > 0 && q.batches[n-1].rows < room {
		room -= q.batches[n-1].rows
	}
	r.tasks = r.tasks[:0]
	for from := 0; from < rows; room = q.model.p.BatchRows() {
		to := min(from+room, rows)
		r.tasks = append(r.tasks, &task{req: r, from: from, to: to})
		from = to
	}
	return true
}

// abandon takes a request whose context ended out of its queue, or away from its running batches. It reports whether the
// whole request was still queued, and waits until the batches no longer read its feeds.
func (s *Scheduler) abandon(r *request) (queued bool) {
	var reading []chan struct{}
	queued = true
	s.mu.Lock()
	for _, t := range r.tasks {
		switch b := t.batch; {
		case t.ended:
			queued = false
		case !b.started:
			b.queue.remove(t)
			if len(b.queue.batches) == 0 {
				s.removeQueue(b.queue)
			}
		default:
			queued = false
			t.abandoned = true
			if b.waiting--; b.waiting == 0 {
				b.cancel()
			}
			if !t.feedsRead {
				t.feedsFree = make(chan struct{})
				reading = append(reading, t.feedsFree)
			}
		}
	}
	s.mu.Unlock()
	for _, c := range reading {
		<-c
	}
	return queued
}

func (s *Scheduler) removeQueue(q *queue) {
	delete(q.model.queues, q.key)
	s.active = slices.DeleteFunc(s.active, func(o *queue) bool { return o == q })
}

// finishExcept ends the tasks of a batch that are not run: their callers have given up, or their feeds do not fit.
func (s *Scheduler) finishExcept(b *batch, run []*task) {
	if len(run) == len(b.tasks) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range b.tasks {
		if slices.Contains(run, t) {
			continue
		}
		if !t.abandoned {
			b.waiting--
		}
		t.release()
		t.end()
	}
	b.tasks = run
}

// release tells callers who gave up that the batch no longer reads their feeds.
func (s *Scheduler) release(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range b.tasks {
		t.release()
	}
}

// finish hands the results of a batch to its callers.
func (s *Scheduler) finish(b *batch) {
	defer b.queue.model.running.Done()
	defer b.account.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	b.cancel()
	for _, t := range b.tasks {
		t.end()
	}
}

func (t *task) release() {
	t.feedsRead = true
	if t.feedsFree != nil {
		close(t.feedsFree)
	}
}

func (t *task) end() {
	t.ended = true
	if t.req.pending--; t.req.pending == 0 {
		close(t.req.done)
	}
}
