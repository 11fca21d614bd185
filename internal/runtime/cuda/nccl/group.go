package nccl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
)

// ID names a group to all its ranks.
type ID [idBytes]byte

// Group is GPUs that sum together. One goroutine at a time may call its methods.
type Group struct {
	lib    calls
	ranks  []communicator
	total  int  // number of ranks, including other processes'
	broken bool // the group has failed or ended

	patience  time.Duration // how long Close waits for other processes
	leaveTime time.Duration // how long the library may take to end a rank
}

var (
	_ peers.Reducer = (*Group)(nil)
	_ peers.Group   = (*Group)(nil)
)

const (
	closePatience = 2 * time.Second
	leaveTime     = 10 * time.Second
	interval      = 200 * time.Microsecond // between checks whether a call is done
)

// remote reports whether some ranks belong to other processes. Calls then return before they are done.
func (g *Group) remote() bool { return g.total > len(g.ranks) }

// Open makes a group of GPUs of this process. Its error is ErrNotNative if a context is not a real GPU's, and wraps a
// *dylib.NotFoundError if there is no NCCL.
func Open(contexts []driver.Context, folders ...string) (*Group, error) {
	if err := checkNative(contexts); err != nil {
		return nil, err
	}
	n, err := bind(folders...)
	if err != nil {
		return nil, err
	}
	id, err := n.newID()
	if err != nil {
		return nil, err
	}
	return join(context.Background(), n, contexts, place{id: id, total: len(contexts)})
}

// checkNative checks that contexts are real.
func checkNative(contexts []driver.Context) error {
	for i, c := range contexts {
		if _, ok := c.(driver.NativeContext); !ok {
			return fmt.Errorf("NCCL on GPU %d: %w", i, ErrNotNative)
		}
	}
	return nil
}

// place is a peers.Place.
type place struct {
	id           ID
	first, total int
}

func join(ctx context.Context, lib calls, contexts []driver.Context, at place) (*Group, error) {
	if at.first < 0 || len(contexts) == 0 || at.first+len(contexts) > at.total {
		return nil, fmt.Errorf("NCCL: expected ranks below %d, got %d from %d on", at.total, len(contexts), at.first)
	}
	g := &Group{lib: lib, ranks: make([]communicator, len(contexts)), total: at.total, patience: closePatience, leaveTime: leaveTime}
	err := lib.group(func() error {
		for i, c := range contexts {
			m := membership{id: &at.id, rank: at.first + i, total: at.total, blocking: !g.remote()}
			if err := c.(driver.NativeContext).Current(func() error { return lib.enter(m, &g.ranks[i]) }); err != nil {
				return fmt.Errorf("rank %d: %w", m.rank, err)
			}
		}
		return nil
	})
	if err == nil {
		err = g.waitAll(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("NCCL: join %d GPUs: %w", at.total, err), g.Abort())
	}
	return g, nil
}

// waitAll waits for the last call of every rank.
func (g *Group) waitAll(ctx context.Context) error {
	var tick *time.Ticker
	for _, c := range g.ranks {
		for {
			err := g.lib.state(c)
			if err == nil {
				break
			}
			if !errors.Is(err, errInProgress) {
				return err
			}
			if tick == nil {
				tick = time.NewTicker(interval)
				defer tick.Stop()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("wait for the other processes: %w", context.Cause(ctx))
			}
		}
	}
	return nil
}

// AllReduce implements peers.Reducer for a group within this process.
func (g *Group) AllReduce(parts []peers.Part) error { return g.Reduce(context.Background(), parts) }

// Reduce implements peers.Group.
func (g *Group) Reduce(ctx context.Context, parts []peers.Part) error {
	if g.broken {
		return fmt.Errorf("sum by NCCL: %w", peers.ErrBroken)
	}
	if err := peers.Check(parts, len(g.ranks)); err != nil || parts[0].Count == 0 {
		return err
	}
	streams := make([]uintptr, len(parts))
	for i, p := range parts {
		s, ok := p.Stream.(driver.NativeStream)
		if !ok {
			return fmt.Errorf("sum by NCCL: stream of GPU %d: %w", i, ErrNotNative)
		}
		streams[i] = s.Handle()
	}
	err := g.lib.group(func() error {
		for i, p := range parts {
			if err := g.lib.allReduce(g.ranks[i], reduction{p.Address, p.Count, p.Type, streams[i]}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && g.remote() {
		err = g.waitAll(ctx)
	}
	if err != nil {
		g.broken = true
		return fmt.Errorf("sum by NCCL: %w", err)
	}
	return nil
}

// Check implements peers.Group.
func (g *Group) Check() error {
	for _, c := range g.ranks {
		if err := g.lib.state(c); err != nil && !errors.Is(err, errInProgress) {
			return fmt.Errorf("NCCL: %w", err)
		}
	}
	return nil
}

// Abort implements peers.Group. It releases streams that wait for a missing rank.
func (g *Group) Abort() error { return g.end(abort) }

// Close implements peers.Reducer and peers.Group. It aborts a group that failed, or that the other processes do not close,
// too.
func (g *Group) Close() error {
	switch {
	case g.broken:
		return g.end(abort)
	case !g.remote():
		return g.end(destroy)
	}
	err := g.each(finalize)
	if errors.Is(err, ErrStuck) {
		g.broken, g.ranks = true, nil
		return err
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), g.patience)
		err = g.waitAll(ctx)
		cancel()
	}
	if err != nil { // the others are gone or slow, but this process loses nothing that it needs
		return g.end(abort)
	}
	return g.end(destroy)
}

// end leaves the group.
func (g *Group) end(how leaving) error {
	g.broken = true
	err := g.each(how)
	g.ranks = nil
	return err
}

// each makes every rank leave. The library's functions sometimes wait for ranks of other processes even if they should not,
// so each does not wait long for them.
func (g *Group) each(how leaving) error {
	if len(g.ranks) == 0 {
		return nil // already left
	}
	done := make(chan error, 1)
	go func(lib calls, ranks []communicator) {
		var errs []error
		for _, c := range ranks {
			if c != 0 {
				errs = append(errs, lib.leave(c, how))
			}
		}
		done <- errors.Join(errs...)
	}(g.lib, g.ranks)
	limit := time.NewTimer(g.leaveTime)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
		return fmt.Errorf("leave a group of NCCL: %w after %v", ErrStuck, g.leaveTime)
	}
}
