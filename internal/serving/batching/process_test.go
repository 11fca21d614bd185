package batching

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Results that are not a batch, and panics, are errors of the requests; the worker survives.
func TestModelsThatMisbehave(t *testing.T) {
	s := NewScheduler(Options{Threads: 1})
	defer s.Close()
	for _, c := range []struct {
		answer func(x *tensor.Tensor) []*tensor.Tensor
		code   codes.Code
		text   string
	}{
		{func(*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{tensor.Scalar(float32(1))} }, codes.FailedPrecondition, "Batched output tensor has 0 dimensions"},
		{func(*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{tensor.New(tensor.Float32, 3)} }, codes.FailedPrecondition,
			"Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors"},
		{func(*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{{DType: tensor.Float32, Shape: []int{2}}}
		}, codes.Internal, "does not have the data of its shape"},
		{func(*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{nil} }, codes.Internal, "does not have the data of its shape"},
		{func(*tensor.Tensor) []*tensor.Tensor { return nil }, codes.Internal, "Wrong number of batched output tensors"},
		{func(*tensor.Tensor) []*tensor.Tensor { panic("no") }, codes.Internal, "panicked: the server's log tells more under "},
	} {
		m := New(servable.ID{Name: "m"}, &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			return c.answer(feeds["x:0"]), nil
		}}, Defaults(), s)
		b := &bench{T: t}
		_, err := m.Run(t.Context(), floats(t, []float32{1, 2}, 2), []string{"y:0"})
		b.fails(c.code, c.text)(nil, err)
	}
}

// The queues of models take turns, and one model's requests for other outputs have a queue of their own.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScheduler(Options{Threads: 1})
		defer s.Close()
		var mu sync.Mutex
		var order []string
		model := func(name string) servable.Model {
			return New(servable.ID{Name: name}, &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
				mu.Lock()
				order = append(order, name+" "+fetches[0])
				mu.Unlock()
				time.Sleep(time.Second)
				return slices.Repeat([]*tensor.Tensor{feeds["x:0"]}, len(fetches)), nil
			}}, small(func(p *Parameters) { p.MaxBatchSize = 1 }), s)
		}
		a, b := model("a"), model("b")
		var calls sync.WaitGroup
		for _, c := range []struct {
			m     servable.Model
			fetch string
		}{{a, "y"}, {a, "y"}, {a, "y"}, {a, "z"}, {b, "y"}, {b, "y"}} {
			calls.Go(func() {
				if _, err := c.m.Run(t.Context(), floats(t, []float32{1}, 1), []string{c.fetch}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		if want := []string{"a y", "a y", "a z", "b y", "a y", "b y"}; !slices.Equal(order, want) {
			t.Errorf("ran %v, expected %v", order, want)
		}
	})
}

// A closed scheduler runs the waiting requests at once, without their timeout, and accepts no more; a model waits for its last runs.
func TestClose(t *testing.T) {
	bubble(t, small(func(p *Parameters) { p.BatchTimeout = time.Hour }), func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1)
		b.s.Close()
		b.go1(b.Context(), b.fails(codes.Unavailable, "the batch scheduler is closed"), []float32{0}, 1)
		if err := b.m.Close(); err != nil {
			t.Error(err)
		}
	})
}

type watcher struct{ ran []BatchStats }

func (w *watcher) Batch(r BatchStats) { w.ran = append(w.ran, r) }

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		s := NewScheduler(Options{Threads: 1, Name: "pool", Observer: &w})
		h := &half{busy: time.Second}
		m := New(servable.ID{Name: "half", Version: 3}, h.model(), small(func(p *Parameters) { p.AllowedBatchSizes = []int{4} }), s)
		if _, err := m.Run(t.Context(), floats(t, []float32{1, 2, 3}, 3), []string{"y:0"}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		r := w.ran[0]
		if len(w.ran) != 1 || r.Model.Version != 3 || r.Pool != "pool" || r.Rows != 3 || r.Padding != 1 || r.Run != time.Second || len(r.Waits) != 1 || r.Err != nil {
			t.Errorf("got %+v", w.ran)
		}
	})
}

// One long request beside many rows of short ones does not make a batch of many times their size.
func TestPaddingDominates(t *testing.T) {
	bubble(t, small(func(p *Parameters) { p.MaxBatchSize, p.PadVariableLengthInputs = 1000, true }), func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1, 1}, 2), []float32{0}, 1, 1)
		long := 100000
		b.go1(b.Context(), func(y *tensor.Tensor, err error) {
			if err != nil || !slices.Equal(y.Shape, []int{1, long}) {
				t.Error(y, err)
			}
		}, make([]float32, long), 1, long)
		b.go1(b.Context(), func(y *tensor.Tensor, err error) {
			if err != nil || !slices.Equal(y.Shape, []int{900, 1}) {
				t.Error(y, err)
			}
		}, make([]float32, 900), 900, 1)
		b.calls.Wait()
		if s := b.h.sizes(); !slices.Equal(s, []int{1, 1, 900}) {
			t.Errorf("batches of %v rows", s)
		}
	})
}

// Outputs come in the order of the fetches, also repeated ones, which share no memory.
func TestFetchOrder(t *testing.T) {
	s := NewScheduler(Options{Threads: 2})
	defer s.Close()
	m := New(servable.ID{}, &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		var out []*tensor.Tensor
		for _, f := range fetches {
			x, err := tensor.FromStrings([][]byte{[]byte(f)}, 1)
			if err != nil {
				return nil, status.Error(codes.Internal, err.Error())
			}
			out = append(out, x)
		}
		return out, nil
	}}, Defaults(), s)
	out, err := m.Run(t.Context(), floats(t, []float32{1}, 1), []string{"z", "a", "z"})
	if err != nil || string(out[0].Strings[0]) != "z" || string(out[1].Strings[0]) != "a" || string(out[2].Strings[0]) != "z" || out[0] == out[2] {
		t.Errorf("got %v, %v", out, err)
	}
}

// Batches that become ready together run on as many workers as there are.
func TestAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &half{busy: time.Second}
		s := NewScheduler(Options{Threads: 3})
		defer s.Close()
		m := New(servable.ID{Name: "half"}, h.model(), small(func(p *Parameters) {
			p.MaxBatchSize, p.EnableLargeBatchSplitting, p.MaxExecutionBatchSize = 12, true, 4
		}), s)
		synctest.Wait()
		start := time.Now()
		if _, err := m.Run(t.Context(), floats(t, make([]float32, 12), 12), []string{"y:0"}); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("three batches took %v on three workers", d)
		}
	})
}
