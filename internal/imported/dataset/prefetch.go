package dataset

import (
	"context"
	"io"
	"sync"
)

// autotuned is how many elements are prefetched if a graph leaves the number to the runtime.
const autotuned = 8

// Prefetch is the Dataset whose passes make up to n elements ahead (negative: a few) in the background.
func Prefetch(in Dataset, n int64) Dataset {
	switch {
	case n == 0:
		return in
	case n < 0:
		n = autotuned
	}
	return &prefetch{in, n}
}

type prefetch struct {
	in Dataset
	n  int64
}

func (f *prefetch) Cardinality() int64 { return f.in.Cardinality() }

func (f *prefetch) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(f.in)
	if err != nil || p.Alone {
		return in, err
	}
	it := &prefetching{p: p, in: in, most: f.n, came: make(chan struct{}, 1)}
	it.ctx, it.cancel = context.WithCancel(context.Background())
	return it, nil
}

// prefetching runs its input in a goroutine while there is something to do: the goroutine ends when the buffer is full, and
// taking an element starts a new one.
type prefetching struct {
	p      *Pass
	in     Iterator // used by the goroutine
	most   int64
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	buffer  []made
	running sync.WaitGroup
	busy    bool
	ended   bool
	closed  bool
	came    chan struct{} // an element came, or the goroutine ended
}

// made is an element or an error.
type made struct {
	e    Element
	err  error
	held int
}

func (f *prefetching) Next(ctx context.Context) (Element, error) {
	for {
		f.mu.Lock()
		f.start()
		if len(f.buffer) > 0 {
			m := f.buffer[0]
			f.buffer[0] = made{}
			f.buffer = f.buffer[1:]
			f.p.Room.give(m.held)
			f.start()
			f.mu.Unlock()
			return m.e, m.err
		}
		ended := f.ended
		f.mu.Unlock()
		if ended {
			return nil, io.EOF
		}
		select {
		case <-f.came:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// start begins to fill the buffer, unless a goroutine already does. The mutex is held.
func (f *prefetching) start() {
	if f.busy || f.ended || f.closed || int64(len(f.buffer)) >= f.most {
		return
	}
	f.busy = true
	f.running.Go(f.run)
}

func (f *prefetching) run() {
	for more := true; more; {
		e, err := guard(f.ctx, f.in.Next)
		more = f.add(e, err)
		select {
		case f.came <- struct{}{}:
		default:
		}
	}
}

// add appends an element to the buffer and reports whether there is room for another one.
func (f *prefetching) add(e Element, err error) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
	case err == io.EOF:
		f.ended = true
	default:
		m := made{e: e, err: err}
		if n := e.bytes(); f.p.Room.take(n) == nil {
			m.held = n
			more = int64(len(f.buffer))+1 < f.most
		} // without room, one element waits, and no more are made
		f.buffer = append(f.buffer, m)
	}
	f.busy = more
	return more
}

func (f *prefetching) Close() {
	f.cancel()
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.running.Wait()
	f.in.Close()
	for _, m := range f.buffer {
		f.p.Room.give(m.held)
	}
	f.buffer, f.ended = nil, true
}
