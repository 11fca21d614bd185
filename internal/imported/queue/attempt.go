package queue

import (
	"context"
	"slices"
	"sync"
)

// attempt is a call that waits. It is guarded by the mutex of what it waits for.
type attempt struct {
	try  func() (progress, error)
	undo func() // gives back what the attempt has taken; nil for nothing
	done chan struct{}
	err  error
}

// progress is the outcome of a try.
type progress uint8

const (
	stuck    progress = iota // nothing
	some                     // some elements were moved, but more are wanted
	finished                 // the attempt is over, successful or not
)

// finish ends the attempt.
func (a *attempt) finish(err error) {
	a.err = err
	close(a.done)
}

// place is where attempts wait: a mutex, and a function that serves them when something has changed.
type place struct {
	mu    sync.Mutex
	flush func() // called with the mutex held
}

// wait appends an attempt to a line and waits until it or ctx ends.
func (p *place) wait(ctx context.Context, line *[]*attempt, a *attempt) error {
	a.done = make(chan struct{})
	p.mu.Lock()
	*line = append(*line, a)
	p.flush()
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(*line, a)
	if at < 0 {
		return a.err
	}
	*line = slices.Delete(*line, at, at+1)
	if a.undo != nil {
		a.undo()
	}
	p.flush()
	return context.Cause(ctx)
}

// serve tries the attempts of a line in order, until one is not finished.
func serve(line *[]*attempt) (moved bool) {
	for len(*line) > 0 {
		a := (*line)[0]
		p, err := a.try()
		if p != finished {
			return moved || p == some
		}
		moved = true
		(*line)[0] = nil
		*line = (*line)[1:]
		a.finish(err)
	}
	return moved
}
