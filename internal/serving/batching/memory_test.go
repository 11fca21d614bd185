package batching

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// TestAccountOfBatch: a batch runs on its own account, which may hold as much as its requests together and ends with it. A
// request that ends does not affect the others, and each pays for its own results.
func TestAccountOfBatch(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30})
	defer memory.Close()
	first, second := memory.Open(), memory.Open()
	first.Received(100)
	second.Received(300)
	inside, gate := make(chan struct{}), make(chan struct{})
	m := &servable.Func{Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		a := budget.Of(ctx)
		if a == first || a == second || !a.SentBytesFor(400) || a.SentBytesFor(401) || a.Held() < int64(len(feeds["x:0"].Bytes)) {
			t.Errorf("another account than that of both: it holds %d bytes", a.Held())
		}
		close(inside)
		<-gate
		return []*tensor.Tensor{feeds["x:0"].Clone()}, a.Reserve(1000)
	}}
	p := Defaults()
	p.MaxBatchSize, p.BatchTimeout = 2, time.Hour
	s := NewScheduler(Options{Threads: 1})
	defer s.Close()
	b := New(servable.ID{Name: "m"}, m, p, s)
	ctx, leave := context.WithCancel(budget.With(t.Context(), first))
	var gone, calls sync.WaitGroup
	gone.Go(func() {
		if _, err := b.Run(ctx, floats(t, []float32{1}, 1), []string{"y:0"}); err == nil {
			t.Error("it was answered although its caller left")
		}
	})
	calls.Go(func() {
		out, err := b.Run(budget.With(t.Context(), second), floats(t, []float32{2}, 1), []string{"y:0"})
		if err != nil || tensor.Values[float32](out[0])[0] != 2 || second.Held() != 4 {
			t.Errorf("got %v, %v, %d bytes are held", out, err, second.Held())
		}
	})
	<-inside
	leave()
	gone.Wait()
	first.Close()
	close(gate)
	calls.Wait()
	second.Close()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if memory.Used() != 0 {
		t.Errorf("%d bytes are still counted", memory.Used())
	}
}

// counting is a model whose output takes that many bytes per row, and which accounts for them if honest is set.
func counting(bytes int, honest bool) *servable.Func {
	return &servable.Func{Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) (out []*tensor.Tensor, err error) {
		for range fetches {
			rows := feeds["x:0"].Shape[0]
			if honest {
				if err := budget.Of(ctx).ReserveModel(rows * bytes); err != nil {
					return nil, err
				}
			}
			out = append(out, tensor.New(tensor.Uint8, rows, bytes))
		}
		return out, nil
	}}
}

// TestResultsCountOnce: each byte of a batch's results is counted once, even if a request was split or fetches an output twice.
func TestResultsCountOnce(t *testing.T) {
	const mib = 1 << 20
	split := func(p *Parameters) { p.EnableLargeBatchSplitting, p.MaxExecutionBatchSize = true, 2 }
	for name, c := range map[string]struct {
		limit   int64
		change  func(p *Parameters)
		honest  bool
		fetches []string
		held    int64 // by the caller, at the end; 0: refused
	}{
		"more than half of what there is": {4*mib + mib/4, func(*Parameters) {}, true, []string{"y:0"}, 4 * mib},
		"padded":                          {4*mib + mib/4, func(p *Parameters) { p.MaxBatchSize, p.AllowedBatchSizes = 5, []int{5} }, false, []string{"y:0"}, 4 * mib},
		"exactly what there is":           {4 * mib, func(*Parameters) {}, false, []string{"y:0"}, 4 * mib},
		"more than there is":              {4*mib - 1, func(*Parameters) {}, false, []string{"y:0"}, 0},
		"split":                           {8 * mib, split, false, []string{"y:0"}, 4 * mib},
		"split, one byte less":            {8*mib - 1, split, false, []string{"y:0"}, 0},
		"twice":                           {8 * mib, func(*Parameters) {}, false, []string{"y:0", "y:0"}, 8 * mib},
		"twice, one byte less":            {8*mib - 1, func(*Parameters) {}, false, []string{"y:0", "y:0"}, 0},
	} {
		memory := budget.NewServer(budget.Limits{Server: c.limit})
		s := NewScheduler(Options{Threads: 1})
		b := New(servable.ID{Name: "m"}, counting(mib, c.honest), small(c.change), s)
		a := memory.Open()
		out, err := b.Run(budget.With(t.Context(), a), floats(t, make([]float32, 4), 4), c.fetches)
		s.Close() // the batch has ended
		refused := errors.As(err, new(*budget.Error))
		if refused != (c.held == 0) || !refused && (err != nil || a.Held() != c.held || len(out) != len(c.fetches) || out[0].Shape[0] != 4) {
			t.Errorf("%s: %v, %d bytes are held", name, err, a.Held())
		}
		if a.Close(); memory.Used() != 0 {
			t.Errorf("%s: %d bytes are still counted", name, memory.Used())
		}
		memory.Close()
	}
}

// TestObserverOfRefusedResults: a batch whose results are refused has failed.
func TestObserverOfRefusedResults(t *testing.T) {
	for limit, refused := range map[int64]bool{1 << 20: false, 1<<20 - 1: true} {
		memory, w := budget.NewServer(budget.Limits{Server: limit}), &watcher{}
		s := NewScheduler(Options{Threads: 1, Observer: w})
		b := New(servable.ID{Name: "m"}, counting(1<<20, false), Defaults(), s)
		a := memory.Open()
		_, err := b.Run(budget.With(t.Context(), a), floats(t, make([]float32, 1), 1), []string{"y:0"})
		s.Close()
		if len(w.ran) != 1 || (err != nil) != refused || !errors.Is(w.ran[0].Err, err) {
			t.Errorf("of %d bytes: %v, the observer was told %+v", limit, err, w.ran)
		}
		a.Close()
		memory.Close()
	}
}

// TestPaddingIsNotSent: the account of a batch knows how much of it is padding, in rows and in elements, even if its tasks run
// one by one because one of them is bad.
func TestPaddingIsNotSent(t *testing.T) {
	type sent struct{ rows, elements int }
	for name, c := range map[string]struct {
		sizes []int   // allowed
		tasks [][]int // shapes
		bad   bool    // the batch
		want  []sent
	}{
		"as it is":      {nil, [][]int{{2, 3}}, false, []sent{{2, 6}}},
		"rows":          {[]int{1, 4, 8}, [][]int{{2, 3}}, false, []sent{{2, 6}}},
		"longer":        {nil, [][]int{{2, 3}, {1, 5}}, false, []sent{{3, 11}}},
		"rows, longer":  {[]int{1, 4, 8}, [][]int{{2, 3}, {1, 5}}, false, []sent{{3, 11}}},
		"one by one":    {[]int{1, 4, 8}, [][]int{{2, 3}, {1, 5}}, true, []sent{{3, 11}, {2, 6}, {1, 5}}},
		"one is enough": {[]int{1, 4, 8}, [][]int{{2, 3}}, true, []sent{{2, 6}}},
	} {
		memory := budget.NewServer(budget.Limits{Server: 1 << 30})
		var got []sent
		m := &servable.Func{Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			x := feeds["x:0"]
			rows, elements := budget.Of(ctx).WithoutPadding(x.Shape[0], x.Len())
			if got = append(got, sent{rows, elements}); c.bad && len(got) == 1 {
				return nil, invalid("bad")
			}
			return []*tensor.Tensor{x.Clone()}, nil
		}}
		synctest.Test(t, func(t *testing.T) {
			s := NewScheduler(Options{Threads: 1})
			b := New(servable.ID{Name: "m"}, m, small(func(p *Parameters) {
				p.MaxBatchSize, p.BatchTimeout, p.PadVariableLengthInputs, p.AllowedBatchSizes = 8, time.Hour, true, c.sizes
			}), s)
			var calls sync.WaitGroup
			for _, shape := range c.tasks {
				a := memory.Open()
				calls.Go(func() {
					defer a.Close()
					_, _ = b.Run(budget.With(t.Context(), a), floats(t, make([]float32, shape[0]*shape[1]), shape...), []string{"y:0"})
				})
				synctest.Wait()
			}
			calls.Wait()
			s.Close()
		})
		if !slices.Equal(got, c.want) || memory.Used() != 0 {
			t.Errorf("%s: ran %v, expected %v; %d bytes are still counted", name, got, c.want, memory.Used())
		}
		memory.Close()
	}
}

// TestLimitOfEachInBatch: if each request has its own limit, a batch may hold as much as its requests together.
func TestLimitOfEachInBatch(t *testing.T) {
	const each, requests, values = 1 << 20, 100, 5000 // 20 KB: together 2 MB
	memory := budget.NewServer(budget.Limits{Server: 1 << 30, Request: each})
	defer memory.Close()
	w := &watcher{}
	m := &servable.Func{Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{feeds["x:0"].Clone()}, budget.Of(ctx).ReserveModel(len(feeds["x:0"].Bytes))
	}}
	p := Defaults()
	p.MaxBatchSize, p.BatchTimeout = requests, time.Hour
	s := NewScheduler(Options{Threads: 1, Observer: w})
	b := New(servable.ID{Name: "m"}, m, p, s)
	var calls sync.WaitGroup
	for range requests {
		a := memory.Open()
		a.Received(4 * values)
		calls.Go(func() {
			defer a.Close()
			if _, err := b.Run(budget.With(t.Context(), a), floats(t, make([]float32, values), 1, values), []string{"y:0"}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	s.Close()
	if err := b.Close(); err != nil || len(w.ran) != 1 || w.ran[0].Err != nil || memory.Used() != 0 {
		t.Errorf("ran %+v, %v, %d bytes are still counted", w.ran, err, memory.Used())
	}
}
