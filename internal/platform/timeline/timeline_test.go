package timeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestCapture(t *testing.T) {
	ctx := context.Background()
	if within, end := Begin(ctx, Event{Name: "before"}); within != ctx {
		t.Error("a context of its own without a capture")
	} else {
		end()
	}
	r, err := Start(3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(1); !errors.Is(err, ErrBusy) {
		t.Errorf("a second capture: %v", err)
	}
	outer, endOuter := Begin(ctx, Event{Line: Runs, Name: "outer"})
	_, endInner := Begin(outer, Event{Line: Runs, Name: "inner", Op: "Add", Stats: []Stat{{Name: "rows", Number: 3}}})
	endInner()
	endOuter()
	_, endOther := Begin(ctx, Event{Line: Batches, Name: "other"})
	endOther()
	r.Add(Event{Name: "too many"})
	_, late := Begin(ctx, Event{Name: "late"})
	c := r.End()
	late()
	if len(c.Events) != 3 || c.Dropped != 1 || c.End.Before(c.Start) {
		t.Fatalf("captured %+v", c)
	}
	inner, outerEvent, other := c.Events[0], c.Events[1], c.Events[2]
	if inner.Name != "inner" || inner.Stats[0].Number != 3 || outerEvent.Name != "outer" || other.Line != Batches {
		t.Errorf("events %+v", c.Events)
	}
	if inner.Task == 0 || inner.Task != outerEvent.Task || other.Task == inner.Task || other.Task == 0 {
		t.Errorf("tasks %d, %d, %d", inner.Task, outerEvent.Task, other.Task)
	}
	if inner.Start.Before(outerEvent.Start) || inner.Duration > outerEvent.Duration {
		t.Errorf("%v for %v lies outside of %v for %v", inner.Start, inner.Duration, outerEvent.Start, outerEvent.Duration)
	}
	if again := r.End(); len(again.Events) != 0 || Active() != nil {
		t.Errorf("after the end: %+v, active %v", again, Active())
	}
}

// Captures follow each other while other goroutines record; none gets events of another capture.
func TestConcurrentCaptures(t *testing.T) {
	stop := make(chan struct{})
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, end := Begin(context.Background(), Event{Line: Runs, Name: "x"})
					end()
				}
			}
		})
	}
	for range 20 {
		r, err := Start(1000)
		if err != nil {
			t.Fatal(err)
		}
		for {
			r.mu.Lock()
			full := len(r.events) == r.most
			r.mu.Unlock()
			if full {
				break
			}
		}
		c := r.End()
		for _, e := range c.Events {
			if e.Start.Before(c.Start) || e.Start.Add(e.Duration).After(c.End.Add(time.Second)) {
				t.Fatalf("%+v in a capture from %v to %v", e, c.Start, c.End)
			}
		}
	}
	close(stop)
	working.Wait()
}

// Without a capture nothing is allocated.
func TestBeginIsFree(t *testing.T) {
	ctx := context.Background()
	name := "x"
	if n := testing.AllocsPerRun(100, func() {
		_, end := Begin(ctx, Event{Line: Runs, Name: name, Op: "Add"})
		end()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
