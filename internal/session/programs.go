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
	held    int64 // bytes, while it is idle
}

// newPrograms compiles the first program.
func newPrograms(s *Session, g *graph.Graph, spec engine.Spec, batch int) (*programs, error) {
	ps := &programs{s: s, g: g, spec: spec, room: make(chan struct{}, s.options.MaxConcurrent), batch: batch}
	p, err := ps.make()
	if err != nil {
		return nil, err
	}
	ps.rest(p)
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
		ps.s.idle.Add(-p.held)
		return p, nil
	}
	ps.mu.Unlock()
	p, err := ps.make()
	if err != nil {
		<-ps.room
	}
	return p, err
}

// give puts a program back. Those that rest may hold as much memory as one tensor: large batches of sizes that nobody asks
// for again are forgotten.
func (ps *programs) give(p *instance) {
	clear(p.feeds)
	if !ps.rest(p) {
		_ = p.program.Close() // host memory: there is nobody left to tell
	} else if ps.s.idle.Load() > ps.s.options.Limit {
		ps.s.shed(ps)
		if ps.s.idle.Load() > ps.s.options.Limit {
			ps.shed()
		}
	}
	<-ps.room
}

// rest makes a program idle, false where all are closed.
func (ps *programs) rest(p *instance) bool {
	p.held = int64(p.program.Memory())
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return false
	}
	ps.idle = append(ps.idle, p)
	ps.s.idle.Add(p.held)
	return true
}

// shed frees the idle programs.
func (ps *programs) shed() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.idle {
		ps.s.idle.Add(-p.held)
		_ = p.program.Close()
	}
	ps.idle = nil
}

// close frees the idle programs, and each that runs once it is given back.
func (ps *programs) close() {
	ps.mu.Lock()
	ps.closed = true
	ps.mu.Unlock()
	ps.shed()
}
