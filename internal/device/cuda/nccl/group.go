package nccl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/device/cuda/driver"
	"github.com/goestimator/goestimator/internal/device/cuda/peers"
)

// ID names a group to all its ranks.
type ID [idBytes]byte

// NewID makes the ID of a new group, of which this machine is the meeting point. The folders are searched before others for
// the library; the error is around a *dylib.NotFoundError where it is not found.
func NewID(folders ...string) (ID, error) {
	n, err := bind(folders...)
	if err != nil {
		return ID{}, err
	}
	return n.newID()
}

// Place says which ranks of a group are of this process: First and those after it.
type Place struct {
	ID           ID
	First, Total int
}

// Group is GPUs that sum together. Its methods are called by one goroutine at a time.
type Group struct {
	lib    calls
	ranks  []communicator
	remote bool // some ranks are of other processes: calls return before they are done
	broken bool
}

var _ peers.Reducer = (*Group)(nil)

const (
	patience = time.Minute            // for the ranks of other processes, in AllReduce
	interval = 200 * time.Microsecond // between looks whether a call is done
)

// Open makes a group of GPUs of this process. Its error is an ErrNotNative where a context is not a real GPU's, and around a
// *dylib.NotFoundError where there is no NCCL.
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
	return join(context.Background(), n, contexts, Place{ID: id, Total: len(contexts)})
}

// Join makes this process's ranks of a group, one on each GPU. It returns when all ranks of all processes have come, or ctx
// has ended.
func Join(ctx context.Context, contexts []driver.Context, at Place, folders ...string) (*Group, error) {
	if err := checkNative(contexts); err != nil {
		return nil, err
	}
	n, err := bind(folders...)
	if err != nil {
		return nil, err
	}
	return join(ctx, n, contexts, at)
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

func join(ctx context.Context, lib calls, contexts []driver.Context, at Place) (*Group, error) {
	if at.First < 0 || len(contexts) == 0 || at.First+len(contexts) > at.Total {
		return nil, fmt.Errorf("NCCL: expected ranks below %d, got %d from %d on", at.Total, len(contexts), at.First)
	}
	g := &Group{lib: lib, ranks: make([]communicator, len(contexts)), remote: at.Total > len(contexts)}
	err := lib.group(func() error {
		for i, c := range contexts {
			m := membership{id: &at.ID, rank: at.First + i, total: at.Total, blocking: !g.remote}
			if err := c.(driver.NativeContext).Current(func() error { return lib.enter(m, &g.ranks[i]) }); err != nil {
				return fmt.Errorf("rank %d: %w", m.rank, err)
			}
		}
		return nil
	})
	if err == nil {
		err = g.settle(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("NCCL: join %d GPUs: %w", at.Total, err), g.end(true))
	}
	return g, nil
}

// settle waits for the last call of every rank.
func (g *Group) settle(ctx context.Context) error {
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

// AllReduce implements peers.Reducer for this process's ranks.
func (g *Group) AllReduce(parts []peers.Part) error {
	if err := peers.Check(parts, len(g.ranks)); err != nil || parts[0].Count == 0 {
		return err
	}
	if g.broken {
		return fmt.Errorf("sum by NCCL: %w", ErrBroken)
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
	if err == nil && g.remote {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = g.settle(ctx)
		cancel()
	}
	if err != nil {
		g.broken = true
		return fmt.Errorf("sum by NCCL: %w", err)
	}
	return nil
}

// Check returns what ranks have failed with since, on the GPU or over the network, nil where all are well. It may be called
// while another goroutine waits for a stream.
func (g *Group) Check() error {
	for _, c := range g.ranks {
		if err := g.lib.state(c); err != nil && !errors.Is(err, errInProgress) {
			return fmt.Errorf("NCCL: %w", err)
		}
	}
	return nil
}

// Close implements peers.Reducer. A group that failed is aborted: what it has in streams ends at once.
func (g *Group) Close() error { return g.end(g.broken) }

func (g *Group) end(abort bool) error {
	var errs []error
	for _, c := range g.ranks {
		if c != 0 {
			errs = append(errs, g.lib.leave(c, abort))
		}
	}
	g.ranks = nil
	return errors.Join(errs...)
}
