package distribute

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// TestPrefetchedBatches: each step runs on its own batch, whatever was prefetched: more than there is room for,
// batches whose steps never come, or none. Batches that were never used are freed with the stepper.
func TestPrefetchedBatches(t *testing.T) {
	steps := []struct {
		prefetched []int // before the step
		run        int
	}{
		{nil, 0},
		{[]int{1, 2}, 1},
		{[]int{3, 4, 5, 6}, 2}, // 4 to 6 find no room
		{nil, 4},               // not prefetched; the first one that was is kept
		{nil, 3},
		{[]int{5, 6}, 6}, // 5 never comes
		{[]int{7, 8, 9}, 5},
		{nil, 9}, // 7 and 8 never come
		{[]int{1, 2}, 0},
	}
	train := func(c Config) float64 {
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), "seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
			if err := s.Variables().Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
				t.Fatal(err)
			}
		}
		stepper, err := s.Train(square(graph.NewBuilder(graph.New())))
		if err != nil {
			t.Fatal(err)
		}
		batches := make([]Batch, 10)
		for i := range batches {
			batches[i] = column(t, 1)
			tensor.Values[float64](batches[i].Feeds[0])[0] = 0.3*float64(i) - 1
		}
		ahead, _ := stepper.(Prefetcher)
		for i, step := range steps {
			for _, k := range step.prefetched {
				if ahead == nil {
					break
				}
				if err := ahead.Prefetch(t.Context(), batches[k:k+1]); err != nil {
					t.Fatal(i, err)
				}
			}
			if o, err := stepper.Step(t.Context(), Step{Batches: batches[step.run : step.run+1], Unread: i%2 == 1}); err != nil || o.GlobalStep != int64(i+1) {
				t.Fatal(i, o, err)
			}
		}
		if err := stepper.Close(); err != nil {
			t.Error(err)
		}
		w, err := s.Variables().Get("w")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return w.Float(0)
	}
	want, got := train(on("default", "/cpu:0")), train(onGPUs(t, 1, runconfig.Strategy{}))
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("expected %g as on the host, got %g", want, got)
	}
}
