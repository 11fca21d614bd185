package ps

import (
	"context"
	"errors"
	"sync"
)

// gate admits updates, many at once, until it is closed: then those inside
// leave, and later ones wait.
type gate struct {
	mu      sync.Mutex
	inside  int
	closed  bool
	waiting int
	queued  uint64        // updates that had to wait, in total
	changed chan struct{} // closed at each change that others may wait for
}

// maxQueued bounds the updates that wait at a closed gate.
const maxQueued = 4096

var errQueueFull = errors.New("too many pushes wait for a checkpoint")

func newGate() *gate { return &gate{changed: make(chan struct{})} }

// signal wakes all waiting goroutines; mu is held.
func (g *gate) signal() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// enter waits until the gate is open. The caller must call leave.
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

// wait waits until holds returns true; mu is held before and after.
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

// close keeps out new updates and waits until all inside have left. After an
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

// open admits the waiting updates.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.signal()
}

// waited returns how many updates had to wait.
func (g *gate) waited() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queued
}
