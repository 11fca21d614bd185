package peers_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers/peerstest"
	"github.com/goestimator/goestimator/tensor"
)

func TestMemory(t *testing.T) {
	peerstest.Run(t, func(r *peerstest.Rig) peers.Reducer {
		return peerstest.Join(r, peers.NewMemory())
	})
}

// TestMemoryWithoutARank checks that nobody waits longer than its context, and that a group is unusable after a failure.
func TestMemoryWithoutARank(t *testing.T) {
	peerstest.Each(t, 2, func(r *peerstest.Rig) {
		n := peers.NewMemory()
		g := peerstest.Join(r, n)
		part := func(i, count int, of tensor.DType) []peers.Part {
			return []peers.Part{{Stream: r.Streams[i], Address: r.Put(i, make([]byte, 64)), Count: count, Type: of}}
		}
		gone := errors.New("the other has gone")
		ctx, cancel := context.WithCancelCause(r.T.Context())
		cancel(gone)
		if err := g[0].Reduce(ctx, part(0, 8, tensor.Float64)); !errors.Is(err, gone) {
			r.T.Errorf("expected %v, got %v", gone, err)
		}
		if err := g[0].Reduce(r.T.Context(), part(0, 8, tensor.Float64)); !errors.Is(err, peers.ErrBroken) {
			r.T.Errorf("after that: expected %v, got %v", peers.ErrBroken, err)
		}
		for _, other := range [][]peers.Part{part(1, 4, tensor.Float64), part(1, 8, tensor.Int64)} {
			g = peerstest.Join(r, n)
			var second error
			var both sync.WaitGroup
			both.Go(func() { second = g[1].Reduce(r.T.Context(), other) })
			first := g[0].Reduce(r.T.Context(), part(0, 8, tensor.Float64))
			both.Wait()
			if !errors.Is(first, peers.ErrParts) || !errors.Is(second, peers.ErrParts) {
				r.T.Errorf("parts that differ: expected %v, got %v and %v", peers.ErrParts, first, second)
			}
		}
		id, err := n.NewID()
		if err != nil {
			r.T.Fatal(err)
		}
		for what, at := range map[string]peers.Place{
			"no such rank": {ID: id, First: 2, Total: 2}, "no such group": {ID: []byte("x"), Total: 1}, "nobody else": {ID: id, Total: 2},
			"the same rank": {ID: id, Total: 2}, "another size": {ID: id, First: 1, Total: 3},
		} {
			if _, err := n.Join(ctx, r.Contexts()[:1], at); err == nil {
				r.T.Errorf("%s: expected an error", what)
			}
		}
	})
}
