package accept

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/distribute"
)

// TestFunctionsServersLost kills a parameter server: Schedule and Done, and Join elsewhere, return a named error.
// After Restore functions run again.
func TestFunctionsServersLost(t *testing.T) {
	whole(t)
	s := newFunctionsSoak(t, 1)
	c, err := distribute.NewCoordinator(t.Context(), s.ledger.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	ones := c.CreatePerWorkerDataset(s.ledger.ones)
	asks := map[string]func() error{
		"Schedule": func() error {
			_, err := c.Schedule(t.Context(), s.note, one(0), ones)
			return err
		},
		"Done": func() error {
			_, err := c.Done()
			return err
		},
	}
	for name, ask := range asks {
		v, err := c.Schedule(t.Context(), s.note, one(0), ones)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.kill("ps-1")
		pending, err := c.Schedule(t.Context(), s.note, one(0), ones)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pending.Fetch(t.Context()); err == nil {
			t.Fatalf("%s: a function ran without a parameter server", name)
		}
		for err = ask(); err == nil; err = ask() { // other functions may still be ending
		}
		if !errors.Is(err, distribute.ErrServersLost) {
			t.Fatalf("%s: %v, expected ErrServersLost", name, err)
		}
		s.begin("ps-1")
		if _, err := s.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.Join(t.Context()), c.Close(t.Context()), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for name := range s.tasks {
		s.exit(name, 0)
	}
}
