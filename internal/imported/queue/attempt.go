package queue

import (
	"context"
	"slices"
)

// attempt is a call that waits. The queue's mutex guards it.
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

// wait puts an attempt into a line and waits for its end, or for that of ctx.
func (q *Queue) wait(ctx context.Context, line *[]*attempt, a *attempt) error {
	a.done = make(chan struct{})
	q.mu.Lock()
	*line = append(*line, a)
	q.flush()
	q.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(*line, a)
	if at < 0 {
		return a.err
	}
	*line = slices.Delete(*line, at, at+1)
	if a.undo != nil {
		a.undo()
	}
	q.flush()
	return context.Cause(ctx)
}

// flush serves the first of each line for as long as something moves. The mutex is held.
func (q *Queue) flush() {
	for moved := true; moved; {
		moved = serve(&q.puts)
		moved = serve(&q.takes) || moved
	}
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
