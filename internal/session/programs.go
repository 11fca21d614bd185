package session

import (
	"context"
	"errors"
	"sync"

	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
)

var errNotLinear = errors.New("sizes are not linear in the batch")

// programs are the programs of one graph, as many as run at the same time.
type programs struct {
	s     *Session
	g     *graph.Graph
	spec  engine.Spec
	room  chan struct{} // one entry for each that runs
	batch int           // rows to plan for at first

	mu     sync.Mutex
	idle   []*instance
	closed bool
}

// instance is one program with its feeds.
type instance struct {
	program *engine.Program
	feeds   []*graph.Tensor
}

// newPrograms compiles the first program.
func newPrograms(s *Session, g *graph.Graph, spec engine.Spec, batch int) (*programs, error) {
	ps := &programs{s: s, g: g, spec: spec, room: make(chan struct{}, s.options.MaxConcurrent), batch: batch}
	p, err := ps.make()
	if err != nil {
		return nil, err
	}
	ps.idle = []*instance{p}
	return ps, nil
}

func (ps *programs) make() (*instance, error) {
	p, err := engine.Compile(ps.g, ps.spec, ps.s.dev, ps.s.vars.engine, engine.Options{Capacity: ps.batch})
	if err != nil {
		return nil, err
	}
	return &instance{program: p, feeds: make([]*graph.Tensor, len(ps.spec.Feeds))}, nil
}

// take waits for a program that is free.
func (ps *programs) take(ctx context.Context) (*instance, error) {
	select {
	case ps.room <- struct{}{}:
	default:
		select {
		case ps.room <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	ps.mu.Lock()
	if n := len(ps.idle); n > 0 {
		p := ps.idle[n-1]
		ps.idle = ps.idle[:n-1]
		ps.mu.Unlock()
		return p, nil
	}
	ps.mu.Unlock()
	p, err := ps.make()
	if err != nil {
		<-ps.room
	}
	return p, err
}

// give puts a program back.
func (ps *programs) give(p *instance) {
	clear(p.feeds)
	ps.mu.Lock()
	closed := ps.closed
	if !closed {
		ps.idle = append(ps.idle, p)
	}
	ps.mu.Unlock()
	if closed {
		_ = p.program.Close() // host memory: there is nobody left to tell
	}
	<-ps.room
}

// close frees the idle programs, and each that runs once it is given back.
func (ps *programs) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.closed = true
	for _, p := range ps.idle {
		_ = p.program.Close()
	}
	ps.idle = nil
}
