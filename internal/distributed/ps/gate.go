package ps

import (
	"context"
	"errors"
	"sync"
)

// gate lets updates through, many at once, until it is closed: what is inside
// then leaves, what comes later waits.
type gate struct {
	mu      sync.Mutex
	inside  int
	closed  bool
	waiting int
	queued  uint64        // that had to wait, over all times
	changed chan struct{} // closed at each change that somebody may wait for
}

// maxQueued bounds those that wait at a closed gate.
const maxQueued = 4096

var errQueueFull = errors.New("too many pushes wait for a checkpoint")

func newGate() *gate { return &gate{changed: make(chan struct{})} }

// signal wakes all that wait; mu is held.
func (g *gate) signal() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// enter waits until the gate is open. Call leave in the end.
func (g *gate) enter(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		if g.waiting >= maxQueued {
			return errQueueFull
		}
		g.waiting++
		g.queued++
		defer func() { g.waiting-- }()
	}
	if err := g.wait(ctx, func() bool { return !g.closed }); err != nil {
		return err
	}
	g.inside++
	return nil
}

// wait waits until what it is given holds; mu is held before and after.
func (g *gate) wait(ctx context.Context, holds func() bool) error {
	for !holds() {
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
			g.mu.Lock()
		case <-ctx.Done():
			g.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 {
		g.signal()
	}
}

// close keeps new ones out and waits until all inside have left. After an
// error the gate is open.
func (g *gate) close(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.wait(ctx, func() bool { return !g.closed }); err != nil {
		return err
	}
	g.closed = true
	if err := g.wait(ctx, func() bool { return g.inside == 0 }); err != nil {
		g.closed = false
		g.signal()
		return err
	}
	return nil
}

// open lets in who waits.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.signal()
}

// waited returns how many had to wait.
func (g *gate) waited() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queued
}
