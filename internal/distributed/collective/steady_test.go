package collective

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// A call with a known layout does not allocate, and neither does the transport.
func TestSteadyCallsDoNotAllocate(t *testing.T) {
	const n = 3
	groups := newSite(t, n, true).form(t, 0, nil)
	tensors := make([][]*tensor.Tensor, n)
	for i := range tensors {
		tensors[i] = append(ones(600_000), ones(3)...)
	}
	steps := make([]chan bool, n)
	done := make(chan error)
	for rank := 1; rank < n; rank++ {
		steps[rank] = make(chan bool)
		go func() {
			for overlapped := range steps[rank] {
				done <- step(groups[rank], tensors[rank], overlapped)
			}
		}()
		defer close(steps[rank])
	}
	for _, overlapped := range []bool{false, true} {
		allocs := testing.AllocsPerRun(10, func() {
			for rank := 1; rank < n; rank++ {
				steps[rank] <- overlapped
			}
			if err := step(groups[0], tensors[0], overlapped); err != nil {
				t.Error(err)
			}
			for rank := 1; rank < n; rank++ {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
		if allocs > 0 {
			t.Errorf("overlapped %t: %v allocations for a call on %d workers, expected none", overlapped, allocs, n)
		}
	}
}

func step(g *Group, tensors []*tensor.Tensor, overlapped bool) error {
	if !overlapped {
		return g.AllReduce(context.Background(), tensors, Mean)
	}
	r, err := g.Start(context.Background(), tensors, Mean)
	if err != nil {
		return err
	}
	for i := range tensors {
		r.Ready(i)
	}
	return r.Wait()
}
