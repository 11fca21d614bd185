package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/tensor"
)

// fragile is a Worker that is lost in the first runs of each function, or in every session.
type fragile struct {
	ctx    context.Context
	lost   int // in runs of a function
	runs   map[string]int
	opened atomic.Int64
	never  bool // sessions end at once
}

func (f *fragile) String() string { return "fragile" }
func (f *fragile) Open(ctx context.Context) (Session, error) {
	if f.opened.Add(1) > 1000 {
		<-ctx.Done() // without a pause: let the test continue
	}
	if f.ctx = ctx; f.never {
		over, end := context.WithCancelCause(ctx)
		end(ErrWorkerLost)
		f.ctx = over
	}
	return f, nil
}
func (f *fragile) Context() context.Context                { return f.ctx }
func (f *fragile) Make(context.Context, int, string) error { return nil }
func (f *fragile) Close(bool) error                        { return nil }
func (f *fragile) Run(_ context.Context, c Call) ([]*tensor.Tensor, error) {
	if f.runs[c.Function]++; f.runs[c.Function] <= f.lost {
		return nil, ErrWorkerLost
	}
	return nil, nil
}

// TestRetriesAreLogged: with the function, the worker, and how many workers the call has lost.
func TestRetriesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		c := Start([]Worker{&fragile{lost: 2, runs: map[string]int{}}}, Options{Log: slog.New(slog.NewTextHandler(&text, nil))})
		if _, err := c.Schedule(t.Context(), Call{Function: "deadly"}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Join(t.Context()), c.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 2; n++ {
			if line := fmt.Sprintf("function=deadly worker=fragile workers_lost=%d", n); strings.Count(text.String(), line) != 1 {
				t.Errorf("the log lacks %q:\n%s", line, text.String())
			}
		}
	})
}

// TestLostSessionsPause: there is a pause before a worker whose sessions end at once is asked again.
func TestLostSessionsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fragile{never: true}
		c := Start([]Worker{f}, Options{Log: slog.New(slog.DiscardHandler)})
		time.Sleep(10*time.Second + retryPause/2)
		if n := f.opened.Load(); n != 1+int64(10*time.Second/retryPause) {
			t.Errorf("%d sessions in 10 seconds, expected a pause of %v between two", n, retryPause)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSlowWorker: other workers run the queued calls.
func TestSlowWorker(t *testing.T) {
	slow, quick := &held{started: make(chan struct{}, 1)}, &fragile{runs: map[string]int{}}
	c := Start([]Worker{slow}, Options{})
	first, err := c.Schedule(t.Context(), Call{Function: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-slow.started
	c.loops.Go(func() { c.work(quick) })
	for range 100 {
		v, err := c.Schedule(t.Context(), Call{Function: "quick"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if first.Ready() {
		t.Error("the slow function has ended")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSeveralSchedulers: goroutines schedule, join and fetch at the same time, while functions fail and workers
// are lost. Each call ends, and each error is returned once.
func TestSeveralSchedulers(t *testing.T) {
	r := newRig(t, 7, 2, 2)
	ctx := t.Context()
	var failed, raised atomic.Int64
	note := func(err error) {
		if errors.Is(err, errOwn) {
			raised.Add(1)
		} else if err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 100 {
				v, err := r.Schedule(ctx, Call{Function: strconv.Itoa(100*g + i)})
				if note(err); err != nil {
					continue
				}
				if i%10 == 0 {
					note(r.Join(ctx))
				}
				out, err := v.Fetch(ctx)
				switch {
				case errors.Is(err, errOwn):
					failed.Add(1)
				case err != nil && !errors.Is(err, ErrCancelled), err == nil && out[0].Int(0) != int64(100*g+i):
					t.Errorf("call %d: %v, %v", 100*g+i, out, err)
				}
			}
		})
	}
	all.Wait()
	for err := r.Join(ctx); err != nil; err = r.Join(ctx) {
		note(err)
	}
	if failed.Load() != raised.Load() {
		t.Errorf("%d calls failed, %d errors were returned", failed.Load(), raised.Load())
	}
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestCancelledContexts: nothing is scheduled, and Join does not wait.
func TestCancelledContexts(t *testing.T) {
	h := &held{started: make(chan struct{}, 1)}
	c := Start([]Worker{h}, Options{})
	if _, err := c.Schedule(stuck, Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Schedule: %v, expected its context's end", err)
	}
	v, err := c.Schedule(t.Context(), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Join(stuck); !errors.Is(err, context.Canceled) {
		t.Errorf("Join: %v, expected its context's end", err)
	}
	if _, err := v.Fetch(stuck); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch: %v, expected its context's end", err)
	}
	<-h.started
	if err := c.Close(stuck); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v, expected its context's end", err)
	}
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("Close, again: %v", err)
		}
	}
}

// TestOneCoordinator: another task's coordinator waits until the first is closed.
func TestOneCoordinator(t *testing.T) {
	otherTask := cluster.Task{Job: "chief", Index: 1}
	nodes, _ := cluster.NewLocal(chiefTask, otherTask, workerTask)
	for _, n := range nodes {
		defer n.Close()
	}
	l := &link{chief: nodes[chiefTask], script: &script{started: make(chan struct{}, 10), ended: make(chan struct{}, 10)}}
	l.serve(t, nodes[workerTask])
	l.Coordinator = Start([]Worker{NewClient(l.chief, workerTask)}, Options{Log: slog.New(slog.DiscardHandler)})
	if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := NewClient(nodes[otherTask], workerTask)
	if _, err := second.Open(t.Context()); !errors.Is(err, ErrWorkerLost) || !strings.Contains(fmt.Sprint(err), "a job has one coordinator") {
		t.Errorf("%v, expected to wait for the first coordinator's end", err)
	}
	if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
		t.Errorf("%v, expected the first coordinator to go on", err)
	}
	if n := l.script.begun.Load(); n != 1 {
		t.Errorf("%d sessions, expected the first alone", n)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-l.script.ended
	s, err := second.Open(t.Context())
	if err != nil {
		t.Fatalf("%v, expected the worker once the first coordinator is closed", err)
	}
	if err := s.Close(false); err != nil {
		t.Fatal(err)
	}
	l.server.Detach()
}

// TestServersLostRenewsSessions: each worker begins a new session before it runs functions on lost variables,
// even if it was idle.
func TestServersLostRenewsSessions(t *testing.T) {
	idle := &fragile{runs: map[string]int{}}
	c := Start([]Worker{idle}, Options{Log: slog.New(slog.DiscardHandler)})
	if v, err := c.Schedule(t.Context(), Call{}); err != nil {
		t.Fatal(err)
	} else if _, err := v.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.queue.mu.Lock()
	c.queue.fail(fmt.Errorf("as the test wants: %w", ErrServersLost))
	c.queue.mu.Unlock()
	if err := c.Join(t.Context()); !errors.Is(err, ErrServersLost) {
		t.Errorf("%v, expected ErrServersLost", err)
	}
	if v, err := c.Schedule(t.Context(), Call{}); err != nil {
		t.Fatal(err)
	} else if _, err := v.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := idle.opened.Load(); n != 2 {
		t.Errorf("%d sessions, expected a new one", n)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
