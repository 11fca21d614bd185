package cluster

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memoryBuffer is the most bytes in transit, in one direction.
const memoryBuffer = 256 << 10

// memoryListener accepts connections in memory. They behave like TCP connections,
// as net.Conn specifies, deadlines included.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept returns the serving end of a connection that dial makes.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is the same for all listeners.
func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

// dial returns the calling end of a connection, once the other is accepted.
func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	there, back := newMemoryPipe(), newMemoryPipe()
	select {
	case l.conns <- &memoryConn{in: there, out: back}:
		return &memoryConn{in: back, out: there}, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// memoryConn is an end of a connection.
type memoryConn struct{ in, out *memoryPipe }

// Read implements net.Conn, as do the following methods.
func (c *memoryConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memoryConn) LocalAddr() net.Addr         { return memoryAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr        { return memoryAddr{} }

// Close drops unread data; the other end can still read the data written to it.
func (c *memoryConn) Close() error {
	c.in.end(&c.in.readerGone)
	c.out.end(&c.out.writerGone)
	return nil
}

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.in.set(&c.in.readBy, t)
	c.out.set(&c.out.writeBy, t)
	return nil
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.set(&c.in.readBy, t)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.set(&c.out.writeBy, t)
	return nil
}

// memoryPipe is one direction of a connection: a ring of bytes.
type memoryPipe struct {
	mu       sync.Mutex
	changed  sync.Cond // has mu
	ring     []byte
	start, n int // of the bytes in transit

	readerGone, writerGone bool
	readBy, writeBy        memoryDeadline
}

func newMemoryPipe() *memoryPipe {
	p := &memoryPipe{ring: make([]byte, memoryBuffer)}
	p.changed.L = &p.mu
	return p
}

func (p *memoryPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readerGone:
			return 0, net.ErrClosed
		case p.readBy.over:
			return 0, os.ErrDeadlineExceeded
		case p.n > 0:
			n := copy(b, p.ring[p.start:min(p.start+p.n, len(p.ring))])
			p.start, p.n = (p.start+n)%len(p.ring), p.n-n
			p.changed.Broadcast()
			return n, nil
		case p.writerGone:
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

func (p *memoryPipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.writerGone:
			return written, net.ErrClosed
		case p.writeBy.over:
			return written, os.ErrDeadlineExceeded
		case p.readerGone:
			return written, io.ErrClosedPipe
		case len(b) == 0:
			return written, nil
		case p.n < len(p.ring):
			at := (p.start + p.n) % len(p.ring)
			n := copy(p.ring[at:min(at+len(p.ring)-p.n, len(p.ring))], b)
			p.n, b, written = p.n+n, b[n:], written+n
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}

// end marks the end of the reader or of the writer.
func (p *memoryPipe) end(gone *bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*gone = true
	p.changed.Broadcast()
}

// memoryDeadline is the deadline of reads or writes.
type memoryDeadline struct {
	over  bool
	timer *time.Timer // of the latest deadline; nil: none
}

// set moves a deadline of the pipe. The timer of the previous one no longer
// counts, even if it has fired and waits for the lock.
func (p *memoryPipe) set(d *memoryDeadline, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer = nil
	left := time.Until(t)
	d.over = !t.IsZero() && left <= 0
	if !t.IsZero() && !d.over {
		var timer *time.Timer
		timer = time.AfterFunc(left, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if d.timer == timer {
				d.over = true
				p.changed.Broadcast()
			}
		})
		d.timer = timer
	}
	p.changed.Broadcast()
}
