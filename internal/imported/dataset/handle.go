package dataset

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
)

// ErrUnset says that an iterator has no dataset yet.
var ErrUnset = errors.New("GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for this iterator before getting the next element.")

// Handle is an iterator that steps share: a pass that can be restarted, also over another dataset. It is safe for concurrent use. A
// Handle that becomes unreachable without Close is closed by the garbage collector.
type Handle struct {
	pass *pass
}

// pass is what a Handle holds.
type pass struct {
	turn chan struct{} // holds a value while a call uses in
	in   Iterator      // nil if there is no dataset yet

	mu     sync.Mutex
	end    context.CancelFunc // ends the call in progress
	closed bool
}

// NewHandle returns an iterator without a dataset.
func NewHandle() *Handle {
	p := &pass{turn: make(chan struct{}, 1)}
	h := &Handle{p}
	runtime.AddCleanup(h, func(p *pass) { go p.close() }, p)
	return h
}

// ErrClosed says that an iterator was deleted, or that its container was.
var ErrClosed = errors.New("the iterator is gone")

// Set begins a pass over a dataset.
func (h *Handle) Set(ctx context.Context, d Dataset, p *Pass) error {
	defer runtime.KeepAlive(h)
	_, done, err := h.pass.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	in, err := d.Iterator(p)
	if err != nil {
		return err
	}
	if h.pass.in != nil {
		h.pass.in.Close()
	}
	h.pass.in = in
	return nil
}

// Begin is Set with the dataset that make returns. It does nothing if there is a dataset already.
func (h *Handle) Begin(ctx context.Context, p *Pass, make func() (Dataset, error)) error {
	defer runtime.KeepAlive(h)
	_, done, err := h.pass.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if h.pass.in != nil {
		return nil
	}
	d, err := make()
	if err != nil {
		return err
	}
	h.pass.in, err = d.Iterator(p)
	return err
}

// Next returns the next element, or io.EOF after the last one.
func (h *Handle) Next(ctx context.Context) (Element, error) {
	defer runtime.KeepAlive(h)
	ctx, done, err := h.pass.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if h.pass.in == nil {
		return nil, ErrUnset
	}
	e, err := h.pass.in.Next(ctx)
	if err == io.EOF && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return e, err
}

// Close ends the pass, and a call that is in progress.
func (h *Handle) Close() { h.pass.close() }

// use waits for exclusive use of in.
func (p *pass) use(ctx context.Context) (context.Context, func(), error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.turn
		return nil, nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.end = func() { cancel(ErrClosed) }
	return ctx, func() {
		cancel(nil)
		<-p.turn
	}, nil
}

func (p *pass) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	if p.end != nil {
		p.end()
	}
	p.mu.Unlock()
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.in != nil {
		p.in.Close()
		p.in = nil
	}
}
