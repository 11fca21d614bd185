package batching

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/serving/servable"
)

// halfPlusTwo computes y = x/2 + 2 of any shape, and sees how many rows it ran with.
func halfPlusTwo(busy time.Duration, saw func(rows int)) *servable.Func {
	return &servable.Func{Compute: func(ctx context.Context, feeds map[string]*graph.Tensor, fetches []string) ([]*graph.Tensor, error) {
		saw(feeds["x:0"].Shape[0])
		time.Sleep(busy)
		var out []*graph.Tensor
		for range fetches {
			y := feeds["x:0"].Clone()
			for i, v := range graph.Of[float32](y) {
				graph.Of[float32](y)[i] = v/2 + 2
			}
			out = append(out, y)
		}
		return out, nil
	}}
}

func floats(t *testing.T, values []float32, shape ...int) map[string]*graph.Tensor {
	t.Helper()
	x, err := graph.FromSlice(values, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*graph.Tensor{"x:0": x}
}

// Requests that come while the one worker is busy become one batch, also with a time-out of zero.
func TestBatchesWhatQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		var mu sync.Mutex
		s := NewScheduler(Options{Threads: 1})
		defer s.Close()
		m := New(servable.ID{Name: "half"}, halfPlusTwo(time.Second, func(rows int) {
			mu.Lock()
			sizes = append(sizes, rows)
			mu.Unlock()
		}), Defaults(), s)
		var calls sync.WaitGroup
		for i := range 5 {
			calls.Go(func() {
				v := float32(i)
				y, err := m.Run(t.Context(), floats(t, []float32{v, v + 1}, 2), []string{"y:0"})
				if err != nil {
					t.Error(err)
					return
				}
				if got := graph.Of[float32](y[0]); len(got) != 2 || got[0] != v/2+2 || got[1] != (v+1)/2+2 {
					t.Errorf("request %d got %v", i, got)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		if len(sizes) != 2 || sizes[0] != 2 || sizes[1] != 8 {
			t.Errorf("batches of %v rows, expected [2 8]", sizes)
		}
	})
}
