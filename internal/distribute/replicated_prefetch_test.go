package distribute

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// TestReplicasPrefetch: batches that are copied to each GPU ahead of their step make the same steps as others, also if a
// step is left out, if the last step has fewer batches, and if they are forgotten.
func TestReplicasPrefetch(t *testing.T) {
	hideLaunchers(t)
	for _, name := range []string{"mirrored", "central_storage"} {
		t.Run(name, func(t *testing.T) {
			plain, _ := trainAhead(t, name, 0)
			for _, ahead := range []int{1, stepsAhead} {
				got, most := trainAhead(t, name, ahead)
				if want := ahead + 1; most != want { // the batch of the step that is left out
					t.Errorf("expected at most %d batches ahead on a GPU, got %d", want, most)
				}
				for i, want := range plain {
					if got[i] != want {
						t.Errorf("%d ahead, value %d: expected %v, got %v", ahead, i, want, got[i])
					}
				}
			}
		})
	}
}

// trainAhead returns the results of some steps, and the most batches that were ahead on the last GPU.
func trainAhead(t *testing.T, name string, ahead int) (values []float64, most int) {
	t.Helper()
	s, err := New(onGPUs(t, 3, runconfig.Strategy{Name: name}))
	if err != nil {
		t.Fatal(err)
	}
	r := s.(*replicated)
	p := regression(graph.NewBuilder(graph.New()))
	if err := initialize(s.Variables(), p); err != nil {
		t.Fatal(err)
	}
	x, err := s.Train(p)
	if err != nil {
		t.Fatal(err)
	}
	stepper := x.(*replicatedStepper)
	if got := stepper.Ahead(); got != stepsAhead {
		t.Fatalf("expected %d steps ahead, got %d", stepsAhead, got)
	}
	steps := stepsOf(rand.New(rand.NewPCG(5, 5)), 10, 3)
	for i, batches := range steps {
		if i == 4 {
			continue // the step is not made
		}
		if i == 7 && ahead > 0 {
			if err := stepper.Forget(); err != nil {
				t.Fatal(err)
			}
		}
		for n := i + 1; ahead > 0 && i != 6 && n <= min(i+ahead, len(steps)-1); n++ {
			if n < i+ahead && i > 0 && i != 7 {
				continue // already prefetched
			}
			if err := stepper.Prefetch(context.Background(), steps[n]); err != nil {
				t.Fatal(err)
			}
		}
		most = max(most, len(stepper.replicas[1].ahead.queue))
		if _, err := stepper.Step(context.Background(), Step{Batches: batches}); err != nil {
			t.Fatal(err)
		}
		values = append(values, stepper.Value(1).Float(0))
	}
	w, err := r.copies[0].Get("w")
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Len() {
		values = append(values, w.Float(i))
	}
	if err := stepper.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return values, most
}

// stepsOf returns batches for regression; the last step has one less.
func stepsOf(r *rand.Rand, n, replicas int) (steps [][]Batch) {
	for i := range n {
		var batches []Batch
		for k := range replicas - i/(n-1) {
			rows := 2 + k + i%2
			batches = append(batches, Batch{Rows: rows, Feeds: []*tensor.Tensor{random(r, tensor.Float32, rows, 5)}})
		}
		steps = append(steps, batches)
	}
	return steps
}
