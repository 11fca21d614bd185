package peers

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// memoryGroup is one process's ranks of a group of Memory.
type memoryGroup struct {
	*meeting
	contexts []driver.Context
	first    int // rank
	sums     int
	broken   bool
}

// Reduce implements Group. It waits for the work.
func (g *memoryGroup) Reduce(ctx context.Context, parts []Part) error {
	if g.broken {
		return fmt.Errorf("sum over GPUs: %w", ErrBroken)
	}
	if err := Check(parts, len(g.contexts)); err != nil || parts[0].Count == 0 {
		return err
	}
	err := g.reduce(ctx, parts)
	if err != nil {
		g.broken = true
		return fmt.Errorf("sum over GPUs: %w", err)
	}
	return nil
}

func (g *memoryGroup) reduce(ctx context.Context, parts []Part) (err error) {
	hosts := make([]driver.Pinned, 0, len(parts))
	defer func() {
		for _, h := range hosts {
			err = errors.Join(err, h.Free())
		}
	}()
	for i, p := range parts {
		h, err := g.contexts[i].AllocHost(p.Count * p.Type.Size())
		if err != nil {
			return err
		}
		hosts = append(hosts, h)
		if err := errors.Join(p.Stream.Download(h.Bytes(), p.Address), p.Stream.Synchronize()); err != nil {
			return err
		}
	}
	r := g.bring(parts[0], hosts)
	select {
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("wait for the other ranks: %w", context.Cause(ctx))
	}
	if r.err != nil {
		return r.err
	}
	for i, p := range parts {
		copy(hosts[i].Bytes(), r.parts[0])
		if err := errors.Join(p.Stream.Upload(p.Address, hosts[i].Bytes()), p.Stream.Synchronize()); err != nil {
			return err
		}
	}
	return nil
}

// bring adds this process's parts to the current round.
func (g *memoryGroup) bring(like Part, hosts []driver.Pinned) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rounds[g.sums]
	if r == nil {
		r = &round{dtype: like.Type, parts: make([][]byte, g.total), done: make(chan struct{})}
		g.rounds[g.sums] = r
	}
	for i, h := range hosts {
		r.parts[g.first+i] = append([]byte(nil), h.Bytes()...)
		if like.Type != r.dtype {
			r.err = fmt.Errorf("rank %d brings %v, others %v: %w", g.first+i, like.Type, r.dtype, ErrParts)
		}
		r.came++
	}
	if r.came == g.total {
		r.finish()
		delete(g.rounds, g.sums)
	}
	g.sums++
	return r
}

// finish computes the sum.
func (r *round) finish() {
	for i, p := range r.parts {
		if len(p) != len(r.parts[0]) {
			r.err = fmt.Errorf("rank %d brings %d bytes, rank 0 %d: %w", i, len(p), len(r.parts[0]), ErrParts)
		}
	}
	if r.err == nil {
		add(r.dtype, r.parts)
	}
	close(r.done)
}

// Check implements Group.
func (g *memoryGroup) Check() error { return nil }

// Abort implements Group.
func (g *memoryGroup) Abort() error {
	g.broken = true
	return nil
}

// Close implements Group.
func (g *memoryGroup) Close() error { return g.Abort() }
