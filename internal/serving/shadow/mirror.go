package shadow

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/traffic"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Defaults of Options.
const (
	defaultQueue   = 64
	defaultTimeout = 30 * time.Second
)

// Outcome is the outcome of a copy.
type Outcome string

// The outcomes.
const (
	Same      Outcome = "same"      // the answers agree
	Different Outcome = "different" // they do not
	Failed    Outcome = "failed"    // the version answered with an error
	Dropped   Outcome = "dropped"   // there was no room for the copy, or the version is not available
)

// Result describes one copy.
type Result struct {
	ID         servable.ID // the version that got the copy
	Outcome    Outcome
	Difference float64       // for Same and Different: the largest relative one between two numbers; infinite if the answers differ in form
	Latency    time.Duration // of the second call; 0 if the copy was dropped
}

// An Observer is notified of every copy, from many goroutines; it must not block.
type Observer interface {
	Shadowed(r Result)
}

// Options of a Mirror.
type Options struct {
	Models servable.Source
	// Shadow returns the version that gets a copy of a request that another version of the model answered; nil: none.
	Shadow    func(answered servable.ID) *traffic.Shadow
	Observers []Observer
	Memory    *budget.Server // pays for the copies and for the memory of their runs; nil: not counted
	Queue     int            // how many copies of a model may wait (64)
	Timeout   time.Duration  // of the second call (30 s)
	Log       *slog.Logger   // panics of models; nil: slog.Default
}

// Mirror copies requests. It is an inference.Observer, and must be closed. The copies of each model wait in its own queue, and run one by
// one.
type Mirror struct {
	o     Options
	again inference.Service
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*queue // of models with copies
	closed bool
}

// queue holds the copies of one model. It exists as long as there are copies.
type queue struct {
	waiting []job
	places  int // taken by copies that are being made, wait or run
	busy    bool
}

// job is a waiting copy.
type job struct {
	id      servable.ID
	shadow  traffic.Shadow
	copy    inference.Copy
	account *budget.Account
}

var _ inference.Observer = (*Mirror)(nil)

// New returns a Mirror.
func New(o Options) *Mirror {
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	m := &Mirror{o: o, again: inference.Service{Models: o.Models, Entrypoint: "SHADOW", Log: o.Log}, queues: map[string]*queue{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Done implements inference.Observer: it copies a call if the model has a shadow and there is room.
func (m *Mirror) Done(c inference.Call) {
	if c.Err != nil || c.Runtime == 0 {
		return
	}
	s := m.o.Shadow(c.ID)
	if s == nil {
		return
	}
	j := job{id: servable.ID{Name: c.ID.Name, Version: s.Version}, shadow: *s}
	q := m.place(j.id.Name)
	if q == nil || !j.fill(c, m.o.Memory) {
		m.tell(Result{ID: j.id, Outcome: Dropped})
	}
	if q != nil {
		m.add(q, j)
	}
}

// place takes a place in the queue of a model; it returns nil if there is none.
func (m *Mirror) place(model string) *queue {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[model]
	if q == nil {
		q = &queue{}
	}
	if m.closed || q.places >= m.o.Queue {
		return nil
	}
	q.places++
	m.queues[model] = q
	return q
}

// fill makes the copy; ok is false if there is no memory for it.
func (j *job) fill(c inference.Call, memory *budget.Server) (ok bool) {
	size := c.Size()
	j.account = memory.Open()
	j.account.Received(size)
	if err := j.account.ReserveModel(size); err == nil {
		if j.copy, ok = c.Copy(); ok {
			return true
		}
	}
	j.account.Close()
	return false
}

// add puts a copy into its place, or returns the place if the copy was not made.
func (m *Mirror) add(q *queue, j job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case j.copy.Answer == nil:
		m.leave(j.id.Name, q)
	case m.closed:
		j.account.Close()
		m.leave(j.id.Name, q)
	default:
		q.waiting = append(q.waiting, j)
		if !q.busy {
			q.busy = true
			m.work.Go(func() { m.answer(q) })
		}
	}
}

// leave returns a place. m.mu is held.
func (m *Mirror) leave(model string, q *queue) {
	if q.places--; q.places == 0 {
		delete(m.queues, model)
	}
}

// answer runs the copies of a queue until none waits.
func (m *Mirror) answer(q *queue) {
	for {
		m.mu.Lock()
		if len(q.waiting) == 0 {
			q.busy = false
			m.mu.Unlock()
			return
		}
		j := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		m.mu.Unlock()
		m.tell(m.run(j))
		j.account.Close()
		m.mu.Lock()
		m.leave(j.id.Name, q)
		m.mu.Unlock()
	}
}

// run makes a call again and compares the answers.
func (m *Mirror) run(j job) (r Result) {
	ctx, stop := context.WithTimeout(budget.With(m.ctx, j.account), m.o.Timeout)
	defer stop()
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			fault.Log(m.o.Log, fault.New("a copy of a request to "+j.id.String(), p), "model", j.id.String())
			r = Result{ID: j.id, Outcome: Failed, Latency: time.Since(start)}
		}
	}()
	got, err := m.again.Again(ctx, j.copy, j.id.Version)
	r = Result{ID: j.id, Outcome: Different, Latency: time.Since(start)}
	switch {
	case m.ctx.Err() != nil || status.Code(err) == codes.NotFound || status.Code(err) == codes.ResourceExhausted:
		return Result{ID: j.id, Outcome: Dropped}
	case err != nil:
		r.Outcome = Failed
		return r
	}
	if r.Difference = compare(j.copy.Answer, got); r.Difference <= j.shadow.Tolerance {
		r.Outcome = Same
	}
	return r
}

func (m *Mirror) tell(r Result) {
	for _, o := range m.o.Observers {
		o.Shadowed(r)
	}
}

// Close ends running calls, drops waiting copies, and returns when both are done or ctx ends.
func (m *Mirror) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	done := make(chan struct{})
	go func() {
		m.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a copy of a request is still answered: %w", ctx.Err())
	}
}
