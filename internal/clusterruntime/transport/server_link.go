package transport

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/mem"
)

// serverLink is the server's end of a link, which receives requests and sends responses.
type serverLink struct {
	*link
	server *Server
	ctx    context.Context // of all calls
	cancel context.CancelFunc

	mu    sync.Mutex
	calls map[uint32]*serverCall
}

// run reads requests until the link is closed; then it ends the calls and waits for them.
func (l *serverLink) run() {
	l.done.Go(func() { l.watch(beat) })
	l.close(l.read(l.handle))
	l.cancel()
	l.mu.Lock()
	for _, c := range l.calls {
		c.lost()
	}
	l.mu.Unlock()
	l.done.Wait()
}

// handle reads the data after a header.
func (l *serverLink) handle(h header) error {
	switch h.kind {
	case request:
		return l.request(h)
	case data:
		return l.data(h)
	case cancel:
		l.cancelled(h.call)
		return nil
	}
	return fmt.Errorf("%w: a client does not send kind %d", errMalformed, h.kind)
}

// request begins a call.
func (l *serverLink) request(h header) error {
	b, err := l.in.next(int(h.length))
	if err != nil {
		return err
	}
	var head requestHead
	if err := head.parse(b[:h.head]); err != nil {
		return err
	}
	if head.sizes != nil && h.length > h.head {
		return fmt.Errorf("%w: a message in parts and whole", errMalformed)
	}
	c := l.newCall(h.call, head)
	l.mu.Lock()
	if l.calls[h.call] != nil || len(l.calls) >= maxCalls {
		l.mu.Unlock()
		c.cancel()
		return fmt.Errorf("%w: a number of a call twice, or more than %d calls", errMalformed, maxCalls)
	}
	l.calls[h.call] = c
	l.mu.Unlock()
	if head.sizes == nil {
		c.body = mem.BufferSlice{mem.Copy(b[h.head:], pool)}
	}
	l.server.begin()
	l.done.Add(1)
	l.server.dispatch(c)
	return nil
}

// data reads a frame of a request. It waits until the method asks for the message, and so decides who pays.
func (l *serverLink) data(h header) error {
	l.mu.Lock()
	c := l.calls[h.call]
	l.mu.Unlock()
	if c == nil || c.parts == nil {
		return l.in.discard(int(h.length)) // the call was answered already
	}
	select {
	case <-c.taken:
	case <-c.over:
		return l.in.discard(int(h.length))
	case <-l.closed:
		return l.cause
	}
	whole, fault, err := c.parts.receive(l.in, int(h.length))
	l.in.bulk = !whole && fault == nil
	switch {
	case err != nil:
		return err
	case fault != nil:
		c.arrive(fault)
	case whole:
		c.arrive(nil)
	default:
		c.progress(int(h.length))
	}
	return nil
}

// cancelled ends a call that its client has cancelled.
func (l *serverLink) cancelled(call uint32) {
	l.mu.Lock()
	c := l.calls[call]
	l.mu.Unlock()
	if c != nil {
		c.lost()
	}
}
