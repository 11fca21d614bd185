package limit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const run = 5 * time.Millisecond

// fixed takes five milliseconds for any batch, on that many processors.
func fixed(processors int) servable.Model {
	free := make(chan struct{}, processors)
	return &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		free <- struct{}{}
		time.Sleep(run)
		<-free
		return []*tensor.Tensor{feeds["x:0"]}, nil
	}}
}

// load is how a model handled requests that came at random moments.
type load struct {
	offered, accepted int
	latencies         []time.Duration // of accepted requests, sorted
	slowestRefusal    time.Duration
}

func (l load) p99() time.Duration { return l.latencies[len(l.latencies)*99/100] }

// offer sends requests at a mean rate, at moments that do not depend on the answers. The clock is the bubble's.
func offer(t testing.TB, m servable.Model, requests int, perSecond float64) load {
	r := rand.New(rand.NewPCG(1, 2))
	feeds := map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 1)}
	l := load{offered: requests}
	var mu sync.Mutex
	var calls sync.WaitGroup
	next := time.Now()
	for range requests {
		next = next.Add(time.Duration(-math.Log(1-r.Float64()) / perSecond * float64(time.Second)))
		time.Sleep(time.Until(next))
		calls.Go(func() {
			start := time.Now()
			_, err := m.Run(context.Background(), feeds, []string{"y:0"})
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			switch status.Code(err) {
			case codes.OK:
				l.accepted++
				l.latencies = append(l.latencies, took)
			case codes.ResourceExhausted:
				l.slowestRefusal = max(l.slowestRefusal, took)
			default:
				t.Error(err)
			}
		})
	}
	calls.Wait()
	slices.Sort(l.latencies)
	return l
}

// At twice the capacity the accepted requests take at most twice the unloaded p99, the others are refused at once, and the model
// is kept busy, both without batching and with it.
func TestOverload(t *testing.T) {
	for _, c := range []struct {
		name       string
		processors int
		o          Options
		capacity   float64 // requests per second
		batch      int     // rows; 0: no batching
	}{
		{"one processor", 1, Options{Slots: 1, Hold: true}, 200, 0},
		{"four processors", 4, Options{Slots: 4, Hold: true}, 800, 0},
		{"not held", 4, Options{Slots: 4}, 800, 0},
		{"batches", 2, Options{Slots: 16, Rows: true}, 3200, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(c.o)
				m := fixed(c.processors)
				if c.batch > 0 {
					s := batching.NewScheduler(batching.Options{Threads: c.processors})
					defer s.Close()
					p := batching.Defaults()
					p.MaxBatchSize = c.batch
					m = batching.New(servable.ID{}, m, p, s)
				}
				m = l.Wrap(m)
				calm := offer(t, m, 500, c.capacity/50)
				busy := offer(t, m, int(c.capacity)*3, 2*c.capacity)
				t.Logf("unloaded p99 %v; at twice the capacity p50 %v, p99 %v, accepted %d of %d", calm.p99(), busy.latencies[busy.accepted/2], busy.p99(), busy.accepted, busy.offered)
				if calm.accepted != calm.offered && c.processors > 1 {
					t.Errorf("%d of %d were refused without need", calm.offered-calm.accepted, calm.offered)
				}
				if busy.p99() > 2*calm.p99() {
					t.Errorf("p99 %v, more than twice %v", busy.p99(), calm.p99())
				}
				if busy.slowestRefusal != 0 {
					t.Errorf("a refusal took %v", busy.slowestRefusal)
				}
				if used := float64(busy.accepted) / float64(busy.offered) * 2; used < 0.9 {
					t.Errorf("only %.0f%% of the capacity was used", used*100)
				}
				if s := l.Stats(); s.InFlight != 0 || s.Refused == 0 || s.Limit < 1 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// If fuller batches take longer, slots say nothing: the limit follows the times of requests.
func TestSlowBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := batching.NewScheduler(batching.Options{Threads: 1})
		defer s.Close()
		perRow := &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			time.Sleep(time.Duration(feeds["x:0"].Shape[0]) * time.Millisecond)
			return []*tensor.Tensor{feeds["x:0"]}, nil
		}}
		for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
			l := New(Options{Slots: 1000, Rows: true, MaxDelay: delay})
			m := l.Wrap(batching.New(servable.ID{}, perRow, batching.Defaults(), s))
			calm := offer(t, m, 200, 20)
			busy := offer(t, m, 20000, 2000)
			t.Logf("delay %v: unloaded p99 %v; at twice the capacity p50 %v, p99 %v, accepted %d of %d", delay, calm.p99(), busy.latencies[busy.accepted/2], busy.p99(), busy.accepted, busy.offered)
			if calm.accepted != calm.offered {
				t.Errorf("%d of %d were refused without need", calm.offered-calm.accepted, calm.offered)
			}
			if most := 2 * max(delay, minDelay, calm.p99()); busy.p99() > most {
				t.Errorf("p99 %v, more than %v", busy.p99(), most)
			}
			if used := float64(busy.accepted) / float64(busy.offered) * 2; used < 0.9 {
				t.Errorf("only %.0f%% of the capacity was used", used*100)
			}
		}
	})
}

// Clients that each wait for their answer do not overload a quick model, however they begin: 64 of them are not refused. They do
// overload a model that takes a millisecond: they ask for more than it can do, and only they know that they can wait.
func TestClosedLoop(t *testing.T) {
	for _, c := range []struct {
		run     time.Duration
		refused bool
	}{{50 * time.Microsecond, false}, {150 * time.Microsecond, false}, {time.Millisecond, true}} {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{}, 2)
			l := New(Options{Slots: 2, Hold: true})
			m := l.Wrap(&servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
				free <- struct{}{}
				time.Sleep(c.run)
				<-free
				return nil, nil
			}})
			var clients sync.WaitGroup
			for range 64 {
				clients.Go(func() {
					for range 50 {
						if _, err := m.Run(t.Context(), nil, nil); err != nil {
							time.Sleep(time.Millisecond) // a refused client thinks again
						}
					}
				})
			}
			clients.Wait()
			if s := l.Stats(); (s.Refused > 0) != c.refused {
				t.Errorf("runs of %v: %d of %d were refused", c.run, s.Refused, 64*50)
			}
		})
	}
}

// The limit follows a model that becomes slow, and quick again: its capacity is used, and light traffic is not refused.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := batching.NewScheduler(batching.Options{Threads: 1})
		defer s.Close()
		var took atomic.Int64
		p := batching.Defaults()
		p.MaxBatchSize = 8
		l := New(Options{Slots: 8, Rows: true})
		m := l.Wrap(batching.New(servable.ID{}, &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			time.Sleep(time.Duration(took.Load()))
			return []*tensor.Tensor{feeds["x:0"]}, nil
		}}, p, s))
		for _, each := range []time.Duration{run, 20 * run, run} {
			took.Store(int64(each))
			capacity := 8 / each.Seconds()
			offer(t, m, 2000, 2*capacity) // it learns
			busy := offer(t, m, 2000, 2*capacity)
			t.Logf("%v: p99 %v, accepted %d of %d, %+v", each, busy.p99(), busy.accepted, busy.offered, l.Stats())
			if used := float64(busy.accepted) / float64(busy.offered) * 2; used < 0.8 || busy.p99() > 3*each {
				t.Errorf("runs of %v: %.0f%% used, p99 %v", each, used*100, busy.p99())
			}
			if calm := offer(t, m, 200, capacity/80); calm.accepted != calm.offered {
				t.Errorf("runs of %v: %d of %d calm requests were refused", each, calm.offered-calm.accepted, calm.offered)
			}
		}
	})
}

// The same with the real clock, on a machine that may do other work: the ratio of p99 at twice the capacity to the unloaded one.
func BenchmarkOverload(b *testing.B) {
	for b.Loop() {
		l := New(Options{Slots: 4, Hold: true})
		m := l.Wrap(fixed(4))
		calm, busy := offer(b, m, 100, 100), offer(b, m, 1600, 1600)
		b.ReportMetric(float64(busy.p99())/float64(calm.p99()), "p99/p99")
		b.ReportMetric(busy.p99().Seconds()*1000, "ms-p99")
		b.ReportMetric(busy.slowestRefusal.Seconds()*1000, "ms-refusal")
		b.ReportMetric(200*float64(busy.accepted)/float64(busy.offered), "%used")
	}
}

// The mean of runs is the model's, with or without waiting, so that delays and deadlines are judged correctly.
func TestDelayAndDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Slots: 1, Hold: true, MaxDelay: 3 * run})
		m := l.Wrap(fixed(1))
		feeds := map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 1)}
		ask := func(ctx context.Context) error {
			_, err := m.Run(ctx, feeds, []string{"y:0"})
			return err
		}
		if err := ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := l.Stats(); s.Run != run {
			t.Errorf("a run takes %v, expected %v", s.Run, run)
		}
		var calls sync.WaitGroup
		for i := range 6 {
			calls.Go(func() {
				err := ask(t.Context())
				if late := i >= 4; late != (status.Code(err) == codes.ResourceExhausted) {
					t.Errorf("request %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		calls.Go(func() { _ = ask(t.Context()) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), run+run/2)
		defer cancel()
		if err := ask(ctx); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "past its deadline") {
			t.Errorf("a request that cannot be answered in time: %v", err)
		}
		ctx, leave := context.WithCancel(t.Context())
		calls.Go(func() {
			if err := ask(ctx); status.Code(err) != codes.Canceled {
				t.Errorf("a request that left: %v", err)
			}
		})
		synctest.Wait()
		leave()
		calls.Wait()
		if s := l.Stats(); s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A request at the beginning of a run would wait for the whole run and is refused. Later in the run one is accepted, and no
// second one beside it. It runs as soon as the run is over.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Slots: 1, Hold: true})
		m := l.Wrap(fixed(1))
		var calls sync.WaitGroup
		ask := func(after time.Duration, want codes.Code, took time.Duration) {
			calls.Go(func() {
				time.Sleep(after)
				start := time.Now()
				_, err := m.Run(t.Context(), map[string]*tensor.Tensor{}, nil)
				if got := time.Since(start); status.Code(err) != want || got != took {
					t.Errorf("a request at %v: %v after %v, expected %v after %v", after, err, got, want, took)
				}
			})
		}
		ask(0, codes.OK, run)
		calls.Wait()
		ask(0, codes.OK, run)
		ask(run/10, codes.ResourceExhausted, 0)
		ask(run/2, codes.OK, run/2+run)
		ask(run*9/10, codes.ResourceExhausted, 0)
		ask(run+run/10, codes.ResourceExhausted, 0) // the second has just begun
		ask(run+run/2, codes.OK, run/2+run)
		calls.Wait()
		if s := l.Stats(); s.InFlight != 0 || s.Refused != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// A request with more rows than slots is accepted when nothing else is in flight.
func TestLargeRequest(t *testing.T) {
	l := New(Options{Slots: 4, Rows: true, MaxDelay: 1})
	done, err := l.Admit(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	done()
	done, err = l.Admit(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Admit(t.Context(), 1); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("beside it: %v", err)
	}
	done()
	if done, err = l.Admit(t.Context(), 1); err != nil {
		t.Error(err)
	} else {
		done()
	}
}

// A run of ten milliseconds: with one slot taken and one request waiting, the next request is refused.
func Example() {
	l := New(Options{Slots: 1})
	once, _ := l.Admit(context.Background(), 1)
	time.Sleep(10 * time.Millisecond)
	once()
	first, _ := l.Admit(context.Background(), 1)
	second, _ := l.Admit(context.Background(), 1)
	_, err := l.Admit(context.Background(), 1)
	fmt.Println(status.Code(err), l.Stats().InFlight, l.Stats().Refused)
	first()
	second()
	// Output: ResourceExhausted 2 1
}
