package peerstest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
)

// patience is how long ranks wait for each other.
const patience = 20 * time.Second

// Groups are groups of one GPU each, as if every GPU belonged to another process.
type Groups []peers.Group

var _ peers.Reducer = Groups(nil)

// Join makes a group of a network over all GPUs.
func Join(r *Rig, n peers.Network) Groups {
	r.T.Helper()
	id, err := n.NewID()
	r.must(err)
	ctx, cancel := context.WithTimeout(r.T.Context(), patience)
	defer cancel()
	contexts, g := r.Contexts(), make(Groups, len(r.Devices))
	r.must(g.each(func(i int) (err error) {
		g[i], err = n.Join(ctx, contexts[i:i+1], peers.Place{ID: id, First: i, Total: len(g)})
		return err
	}))
	return g
}

// each calls do for all ranks at the same time.
func (g Groups) each(do func(rank int) error) error {
	errs := make([]error, len(g))
	var all sync.WaitGroup
	for i := range g {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// AllReduce implements peers.Reducer.
func (g Groups) AllReduce(parts []peers.Part) error {
	if err := peers.Check(parts, len(g)); err != nil {
		return err // a group sees only its own part
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return g.each(func(i int) error { return g[i].Reduce(ctx, parts[i:i+1]) })
}

// Close implements peers.Reducer.
func (g Groups) Close() error {
	return g.each(func(i int) error { return errors.Join(g[i].Check(), g[i].Close()) })
}
