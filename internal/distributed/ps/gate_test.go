package ps

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// passes reports whether an update passes the gate.
func passes(t *testing.T, g *gate) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in := make(chan error)
	go func() {
		err := g.enter(ctx)
		if err == nil {
			g.leave()
		}
		in <- err
	}()
	synctest.Wait()
	cancel()
	return <-in == nil
}

// TestGate: a closed gate keeps updates out until it is opened.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		if !passes(t, g) {
			t.Error("a new gate is closed")
		}
		if err := g.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if passes(t, g) {
			t.Error("an update passed a closed gate")
		}
		late := make(chan error)
		go func() { late <- g.enter(t.Context()) }()
		synctest.Wait()
		g.open()
		if err := <-late; err != nil {
			t.Errorf("the update that waited: %v", err)
		}
		g.leave()
		if got := g.waited(); got != 2 {
			t.Errorf("%d updates had to wait, expected 2", got)
		}
	})
}

// TestGateWaitsForWhatIsInside: close returns when the last update has left.
func TestGateWaitsForWhatIsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		for range 2 {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		closed := make(chan error, 1)
		go func() { closed <- g.close(t.Context()) }()
		for left := 2; left > 0; left-- {
			synctest.Wait()
			if len(closed) > 0 {
				t.Fatalf("closed with %d updates inside", left)
			}
			g.leave()
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestGateAfterAFailedClose: a close that gave up leaves the gate open for new
// updates, waiting updates, and the next close.
func TestGateAfterAFailedClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		closed, second, late := make(chan error), make(chan error), make(chan error)
		go func() { closed <- g.close(ctx) }()
		synctest.Wait()
		go func() { late <- g.enter(t.Context()) }()
		go func() { second <- g.close(ctx) }()
		synctest.Wait()
		cancel()
		if err := errors.Join(<-closed, <-second); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := <-late; err != nil {
			t.Errorf("the update that waited: %v", err)
		}
		if !passes(t, g) {
			t.Error("the gate is left closed")
		}
		g.leave()
		g.leave()
		if err := g.close(t.Context()); err != nil {
			t.Errorf("the next close: %v", err)
		}
	})
}

// TestGateQueue: at most maxQueued updates wait; one more is refused, and places
// become free when waiting updates give up.
func TestGateQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		if err := g.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, maxQueued)
		for range maxQueued {
			go func() { gone <- g.enter(ctx) }()
		}
		synctest.Wait()
		if err := g.enter(t.Context()); !errors.Is(err, errQueueFull) {
			t.Errorf("got %v", err)
		}
		cancel()
		for range maxQueued {
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		g.open()
		if !passes(t, g) {
			t.Error("the gate is closed for good")
		}
	})
}
