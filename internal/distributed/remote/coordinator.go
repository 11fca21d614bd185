package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/goestimator/goestimator/tensor"
)

// QueueLimit is how many calls may wait by default, as in TensorFlow.
const QueueLimit = 256 * 1024

// retryPause is the pause between a session, or an attempt to begin one, and the next attempt.
const retryPause = 200 * time.Millisecond

// Worker is a place to run functions.
type Worker interface {
	// Open begins a session as soon as the worker is available. The end of ctx ends it. An error that does not wrap
	// ErrWorkerLost is reported to the scheduling side; then Open is called again.
	Open(ctx context.Context) (Session, error)
	// String names the worker.
	String() string
}

// Session is the time from reaching a worker to its loss. Errors that wrap ErrWorkerLost or ErrServersLost end it;
// others are a function's.
type Session interface {
	// Context ends when the session does.
	Context() context.Context
	// Make makes a resource. A maker's own error becomes the error of functions that use the resource.
	Make(ctx context.Context, number int, maker string) error
	// Run runs a function and returns when it has ended; the end of ctx asks it to end.
	Run(ctx context.Context, c Call) ([]*tensor.Tensor, error)
	// Close ends the session; over says that no other one will follow.
	Close(over bool) error
}

// Options adjust a Coordinator.
type Options struct {
	Limit int          // of waiting calls; 0: QueueLimit
	Log   *slog.Logger // nil: slog.Default()
}

// Coordinator schedules calls on workers. It is safe for concurrent use.
type Coordinator struct {
	queue   *queue
	log     *slog.Logger
	opening context.Context // ends when no more sessions may begin
	close   context.CancelFunc
	life    context.Context // of sessions
	cut     context.CancelFunc
	loops   sync.WaitGroup
}

// Start begins to run functions on workers; Close ends it.
func Start(workers []Worker, o Options) *Coordinator {
	if o.Limit == 0 {
		o.Limit = QueueLimit
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Coordinator{queue: newQueue(o.Limit), log: o.Log}
	c.opening, c.close = context.WithCancel(context.Background())
	c.life, c.cut = context.WithCancel(context.Background())
	for _, w := range workers {
		c.loops.Go(func() { c.work(w) })
	}
	return c
}

// Schedule queues a call. It waits while the queue is full, until ctx ends. If an earlier call failed, it returns
// that error instead.
func (c *Coordinator) Schedule(ctx context.Context, call Call) (*Value, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.queue.put(ctx, call)
}

// Join waits until all calls have ended, or returns the first error of a call.
func (c *Coordinator) Join(ctx context.Context) error { return c.queue.join(ctx) }

// Done reports whether all calls have ended, or returns the first error of a call. While other calls are being
// ended because of that error, it returns false.
func (c *Coordinator) Done() (bool, error) { return c.queue.done() }

// AddResource makes every worker make a resource with the maker of that name, and returns its number.
func (c *Coordinator) AddResource(maker string) int { return c.queue.addResource(maker) }

// farewellTime is how long Close tries to reach workers that are just starting, to tell them.
const farewellTime = 2 * time.Second

// Close cancels all calls, waits for running functions until ctx ends, and tells the workers that no more will
// follow.
func (c *Coordinator) Close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.cut)
	defer stop()
	c.queue.close()
	late := time.AfterFunc(farewellTime, c.close)
	defer late.Stop()
	c.loops.Wait()
	c.close()
	c.cut()
	return ctx.Err()
}

// work runs functions on a worker, session by session.
func (c *Coordinator) work(w Worker) {
	missing := false
	for c.opening.Err() == nil {
		losses := c.queue.lost()
		s, err := c.open(w)
		if err != nil {
			c.missed(w, err, missing)
			missing = true
			c.pause()
			continue
		}
		missing = false
		err = c.serve(w, s, losses)
		if errors.Is(err, errOutdated) {
			s.Close(false)
			continue
		}
		if errors.Is(err, ErrClosed) {
			if err = s.Close(true); err == nil {
				return
			}
			c.log.Warn("a worker was not told that no more functions will come", "worker", w, "error", err)
			continue // it may have come back
		}
		c.log.Warn("a worker is lost", "worker", w, "cause", err)
		s.Close(false)
		c.pause() // the worker may be lost again at once
	}
}

// missed reports a session that did not begin. A missing worker is logged once, as functions wait for it.
func (c *Coordinator) missed(w Worker, err error, again bool) {
	switch {
	case c.opening.Err() != nil:
	case !errors.Is(err, ErrWorkerLost):
		c.queue.failCalls(fmt.Errorf("%v: %w", w, err))
	case !again:
		c.log.Warn("a worker is not there; functions wait for it, or for another one: is it started?", "worker", w, "cause", err)
	}
}

// open begins a session that continues after opening has ended.
func (c *Coordinator) open(w Worker) (Session, error) {
	ctx, cancel := context.WithCancel(c.life)
	stop := context.AfterFunc(c.opening, cancel)
	s, err := w.Open(ctx)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	if !stop() {
		err = errors.Join(ErrWorkerLost, s.Close(true))
		cancel()
		return nil, err
	}
	return &openSession{s, cancel}, nil
}

// openSession is a session with its context.
type openSession struct {
	Session
	cancel context.CancelFunc
}

func (s *openSession) Close(over bool) error {
	defer s.cancel()
	return s.Session.Close(over)
}

func (c *Coordinator) pause() {
	select {
	case <-time.After(retryPause):
	case <-c.opening.Done():
	}
}

// serve gives a worker's session, which began after that many losses, its tasks, and returns why it ended.
func (c *Coordinator) serve(w Worker, s Session, losses int) error {
	for made := 0; ; {
		t, err := c.queue.next(s.Context(), made, losses)
		if err != nil {
			return err
		}
		if t.resource > 0 {
			if err := s.Make(s.Context(), t.resource, t.maker); err != nil {
				return err
			}
			made = t.resource
			continue
		}
		result, err := s.Run(t.ctx, t.value.call)
		if errors.Is(err, ErrWorkerLost) {
			if n := c.queue.again(t.value); n > 0 {
				c.log.Warn("a function runs again, as its worker was lost", "function", t.value.call.Function, "worker", w, "workers_lost", n)
			}
			return err
		}
		c.queue.finish(t.value, result, err)
		if errors.Is(err, ErrServersLost) {
			return err
		}
		if s.Context().Err() != nil { // with the function's error
			return context.Cause(s.Context())
		}
	}
}
