package queue

import (
	"context"
	"slices"
	"sync"
)

// attempt is a call that waits. The mutex of what it waits for guards it.
type attempt struct {
	try  func() (progress, error)
	undo func() // gives back what it has, nil for nothing
	done chan struct{}
	err  error
}

// progress is what came of an attempt.
type progress uint8

const (
	stuck    progress = iota // nothing
	some                     // something was moved, more is wanted
	finished                 // it is over, well or not
)

// finish ends the attempt.
func (a *attempt) finish(err error) {
	a.err = err
	close(a.done)
}

// place is where attempts wait: a mutex, and what serves the lines when something has changed.
type place struct {
	mu    sync.Mutex
	flush func() // the mutex is held
}

// wait puts an attempt into a line and waits for its end, or for that of ctx.
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

// serve tries the attempts of a line in order, up to one that is not over.
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
