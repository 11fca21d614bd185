package dataset

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// maxCalls bounds the calls of a function at the same time.
const maxCalls = 256

// ParallelMap is Map with n calls at the same time (negative: one per processor). The order is kept.
func ParallelMap(in Dataset, f Func, n int64, whole bool) Dataset {
	if n < 0 {
		n = int64(runtime.GOMAXPROCS(0))
	}
	return &parallelMap{in, f, int(max(min(n, maxCalls), 1)), whole}
}

type parallelMap struct {
	in    Dataset
	f     Func
	n     int
	whole bool
}

func (m *parallelMap) Cardinality() int64 { return m.in.Cardinality() }

func (m *parallelMap) Iterator(p *Pass) (Iterator, error) {
	if p.Alone {
		return Map(m.in, m.f, m.whole).Iterator(p)
	}
	in, err := p.begin(m.in)
	if err != nil {
		return nil, err
	}
	it := &parallelMapping{parallelMap: m, p: p, in: in}
	it.ctx, it.cancel = context.WithCancel(context.Background())
	return it, nil
}

// parallelMapping keeps the running calls in the order of their elements. The caller of Next reads the input, so only the calls
// run in the background.
type parallelMapping struct {
	*parallelMap
	p       *Pass
	in      Iterator
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	calls   []*pending
	ended   bool
}

// pending is a call of the function.
type pending struct {
	done chan struct{}
	made
}

func (m *parallelMapping) Next(ctx context.Context) (Element, error) {
	for len(m.calls) < m.n && !m.ended {
		e, err := m.in.Next(ctx)
		if err == io.EOF {
			m.ended = true
			break
		}
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		m.call(e, err)
	}
	if len(m.calls) == 0 {
		return nil, io.EOF
	}
	first := m.calls[0]
	select {
	case <-first.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.calls = m.calls[1:]
	m.p.Room.give(first.held)
	if first.err == io.EOF {
		m.ended, m.n = true, 0
		m.drop()
	}
	return first.e, first.err
}

// call starts a call with an element.
func (m *parallelMapping) call(e Element, err error) {
	c := &pending{done: make(chan struct{})}
	m.calls = append(m.calls, c)
	if err == nil {
		if n := e.bytes(); len(m.calls) > 1 {
			if err = m.p.Room.take(n); err == nil {
				c.held = n
			}
		}
	}
	if err != nil {
		c.err = err
		close(c.done)
		return
	}
	m.running.Go(func() {
		defer close(c.done)
		out, err := guard(m.ctx, func(ctx context.Context) (Element, error) { return m.f(ctx, e) })
		c.e, c.err = out, ended(err, m.whole)
	})
}

// drop cancels and drops the calls.
func (m *parallelMapping) drop() {
	m.cancel()
	m.running.Wait()
	for _, c := range m.calls {
		m.p.Room.give(c.held)
	}
	m.calls = nil
}

func (m *parallelMapping) Close() {
	m.ended = true
	m.drop()
	m.in.Close()
}

// ParallelInterleave is Interleave where each dataset of the cycle makes n elements ahead. The order is kept.
func ParallelInterleave(in Dataset, f Func, cycle, block, n int64) Dataset {
	if cycle < 0 {
		cycle = int64(runtime.GOMAXPROCS(0))
	}
	ahead := func(ctx context.Context, e Element) (Element, error) {
		out, err := f(ctx, e)
		if err != nil {
			return nil, err
		}
		d, err := datasetIn(out)
		if err != nil {
			return nil, err
		}
		return Element{{Resource: Prefetch(d, n)}}, nil
	}
	return Interleave(in, ahead, cycle, block)
}

// guard calls next, and makes a panic an error: in its own goroutine it would end the process.
func guard(ctx context.Context, next func(context.Context) (Element, error)) (e Element, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("elements or functions do not fit: %v", r)
		}
	}()
	return next(ctx)
}
