package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errOwn = errors.New("own error")

// memory is a Worker in memory: the twin of client. It fails at random.
type memory struct {
	name    string
	mu      sync.Mutex
	rng     *rand.Rand
	lossy   int // percentage of runs that lose the worker
	failing int // percentage of runs that fail
	running *atomic.Int64
	ran     *sync.Map // runs by function
	record  func(format string, args ...any)
}

func (w *memory) String() string { return w.name }

func (w *memory) chance(of100 int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(100) < of100
}

func (w *memory) Open(ctx context.Context) (Session, error) {
	return &memorySession{ctx: ctx, worker: w}, nil
}

// memorySession checks that resources are made in order before they are used.
type memorySession struct {
	ctx    context.Context
	worker *memory
	made   int
	busy   atomic.Bool
}

func (s *memorySession) Make(_ context.Context, number int, _ string) error {
	if s.made++; s.made != number {
		s.worker.record("%s made resource %d as number %d", s.worker.name, number, s.made)
	}
	if s.worker.chance(s.worker.lossy) {
		return ErrWorkerLost
	}
	return nil
}

func (s *memorySession) Run(ctx context.Context, c Call) ([]*tensor.Tensor, error) {
	if s.busy.Swap(true) {
		s.worker.record("%s runs two functions at a time", s.worker.name)
	}
	defer s.busy.Store(false)
	s.worker.running.Add(1)
	defer s.worker.running.Add(-1)
	for _, a := range c.Args {
		if a.Resource > s.made {
			s.worker.record("%s has no resource %d", s.worker.name, a.Resource)
		}
	}
	n, _ := s.worker.ran.LoadOrStore(c.Function, new(atomic.Int64))
	switch {
	case s.worker.chance(s.worker.lossy):
		return nil, fmt.Errorf("as the test wants: %w", ErrWorkerLost)
	case s.worker.chance(s.worker.failing):
		return nil, errOwn
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	n.(*atomic.Int64).Add(1)
	id, _ := strconv.Atoi(c.Function)
	return []*tensor.Tensor{tensor.Scalar(int64(id))}, nil
}

func (s *memorySession) Context() context.Context { return s.ctx }

func (s *memorySession) Close(bool) error { return nil }

// rig is a Coordinator over workers in memory.
type rig struct {
	*Coordinator
	running atomic.Int64
	ran     sync.Map
}

func newRig(t *testing.T, seed uint64, lossy, failing int) *rig {
	r := &rig{}
	var workers []Worker
	for i := range 3 {
		workers = append(workers, &memory{name: fmt.Sprint("worker ", i), rng: rand.New(rand.NewPCG(seed, uint64(i))),
			lossy: lossy, failing: failing, running: &r.running, ran: &r.ran, record: t.Errorf})
	}
	r.Coordinator = Start(workers, Options{Limit: 16, Log: slog.New(slog.DiscardHandler)})
	return r
}

func (r *rig) runs(n int) int64 {
	v, ok := r.ran.Load(strconv.Itoa(n))
	if !ok {
		return 0
	}
	return v.(*atomic.Int64).Load()
}

// TestCallsRunOnce: without failures each call runs once, and has its own result.
func TestCallsRunOnce(t *testing.T) {
	r := newRig(t, 1, 0, 0)
	ctx := t.Context()
	var values []*Value
	for i := range 500 {
		v, err := r.Schedule(ctx, Call{Function: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if err := r.Join(ctx); err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		out, err := v.Fetch(stuck)
		if err != nil || out[0].Int(0) != int64(i) || r.runs(i) != 1 {
			t.Fatalf("call %d: %v, %v, %d runs", i, out, err, r.runs(i))
		}
	}
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestWorkersAreLost: each call still has its result, and resources are made again.
func TestWorkersAreLost(t *testing.T) {
	for seed := range uint64(3) {
		r := newRig(t, seed, 5, 0)
		ctx := t.Context()
		var values []*Value
		for i := range 60 {
			c := Call{Function: strconv.Itoa(i)}
			if i%10 == 0 {
				r.AddResource("data")
			}
			c.Args = []Arg{{Resource: 1 + i/10}}
			v, err := r.Schedule(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
		if err := r.Join(ctx); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if out, err := v.Fetch(stuck); err != nil || out[0].Int(0) != int64(i) || r.runs(i) < 1 {
				t.Fatalf("seed %d: call %d: %v, %d runs", seed, i, err, r.runs(i))
			}
		}
		if err := r.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestErrors: after an error was returned nothing is running; each call has a result or
// its own error, or is cancelled; each error of a function is returned once.
func TestErrors(t *testing.T) {
	all := 0
	for seed := range uint64(5) {
		r := newRig(t, seed, 1, 3)
		ctx := t.Context()
		var values []*Value
		returned := 0
		raised := func(err error) {
			returned++
			if n := r.running.Load(); n != 0 || !errors.Is(err, errOwn) {
				t.Fatalf("seed %d: %d run while %v is returned", seed, n, err)
			}
		}
		for len(values) < 300 {
			v, err := r.Schedule(ctx, Call{Function: strconv.Itoa(len(values))})
			if err != nil {
				raised(err)
				continue
			}
			values = append(values, v)
		}
		for err := r.Join(ctx); err != nil; err = r.Join(ctx) {
			raised(err)
		}
		own := 0
		for i, v := range values {
			_, err := v.Fetch(stuck)
			switch {
			case err == nil && r.runs(i) == 1, errors.Is(err, ErrCancelled):
			case errors.Is(err, errOwn):
				own++
			default:
				t.Fatalf("seed %d: call %d: %v, %d runs", seed, i, err, r.runs(i))
			}
		}
		if all += own; own != returned {
			t.Errorf("seed %d: %d errors were returned, %d calls failed", seed, returned, own)
		}
		if err := r.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if all == 0 {
		t.Error("no function failed")
	}
}

// held is a Worker whose functions run until they are asked to end.
type held struct {
	started chan struct{}
	ctx     context.Context
}

func (h *held) String() string                            { return "held" }
func (h *held) Open(ctx context.Context) (Session, error) { h.ctx = ctx; return h, nil }
func (h *held) Context() context.Context                  { return h.ctx }
func (h *held) Make(context.Context, int, string) error   { return nil }
func (h *held) Close(bool) error                          { return nil }
func (h *held) Run(ctx context.Context, c Call) ([]*tensor.Tensor, error) {
	h.started <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestScheduleWaitsForRoom: until a context ends, or the Coordinator is closed.
func TestScheduleWaitsForRoom(t *testing.T) {
	h := &held{started: make(chan struct{}, 1)}
	c := Start([]Worker{h}, Options{Limit: 1})
	running, err := c.Schedule(t.Context(), Call{})
	if err != nil {
		t.Fatal(err)
	}
	<-h.started
	queued, err := c.Schedule(t.Context(), Call{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Schedule(ctx, Call{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, expected to wait for room", err)
	}
	if err := c.Join(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, expected to wait for the end", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*Value{running, queued} {
		if _, err := v.Fetch(t.Context()); !errors.Is(err, ErrCancelled) {
			t.Errorf("%v, expected ErrCancelled", err)
		}
	}
}

// gone is a Worker whose Open fails.
type gone struct{ err error }

func (g gone) String() string                        { return "gone" }
func (g gone) Open(context.Context) (Session, error) { return nil, g.err }

// TestMissingWorkerIsLogged: once, as Join waits for it.
func TestMissingWorkerIsLogged(t *testing.T) {
	tried := make(chan struct{}, 100)
	var text strings.Builder
	c := Start([]Worker{missing{tried}}, Options{Log: slog.New(slog.NewTextHandler(&text, nil))})
	for range 3 {
		<-tried
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "missing"); n != 1 {
		t.Errorf("the worker is named %d times, expected once:\n%s", n, text.String())
	}
}

// missing is a Worker that cannot be reached.
type missing struct{ tried chan struct{} }

func (missing) String() string { return "missing" }
func (m missing) Open(context.Context) (Session, error) {
	m.tried <- struct{}{}
	return nil, ErrWorkerLost
}

// TestServersLost: if no worker can begin because the variables are gone, Join reports it.
func TestServersLost(t *testing.T) {
	c := Start([]Worker{gone{ErrServersLost}, gone{ErrWorkerLost}}, Options{})
	v, err := c.Schedule(t.Context(), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Join(t.Context()); !errors.Is(err, ErrServersLost) {
		t.Errorf("%v, expected ErrServersLost", err)
	}
	if _, err := v.Fetch(t.Context()); !errors.Is(err, ErrCancelled) {
		t.Errorf("%v, expected ErrCancelled", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
