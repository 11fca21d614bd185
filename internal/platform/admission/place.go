package admission

import (
	"container/list"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

// Place is the place of a connection. A nil Place means that it has none.
type Place struct {
	of    *Places
	raw   net.Conn
	from  origin
	below *Place // of the connection below, if that has one in other Places

	oneByOne bool // HTTP/1: one goroutine answers its requests in turn

	heard  atomic.Bool  // something arrived since the last look
	uses   atomic.Int64 // running calls and other uses
	had    atomic.Bool  // whether it ever had a use
	kept   atomic.Bool  // one of the uses has no end
	called atomic.Bool  // a call has come
	calls  atomic.Int64 // twice the calls that have not ended, plus 1 if the connection is closed

	owes    atomic.Int64 // replies that the client has not received
	writes  writes
	mu      sync.Mutex
	replies map[*departing]struct{} // these replies
	closed  bool                    // no more replies depart

	// under the mutex of the Places
	came    time.Time
	at      *queue // nil: it has left
	element *list.Element
	seenBy  *look
}

// Begin records that the connection is in use until End, so that it is not closed to make room for another. A call is a use once its
// message has arrived.
func (p *Place) Begin() {
	if p == nil {
		return
	}
	p.below.Begin()
	p.uses.Add(1)
	if !p.had.Load() && p.had.CompareAndSwap(false, true) {
		p.of.know(p)
	}
}

// End ends what Begin began.
func (p *Place) End() {
	if p == nil {
		return
	}
	p.hear()
	p.uses.Add(-1)
	p.below.End()
}

// InUse reports whether the connection is in use.
func (p *Place) InUse() bool { return p != nil && p.uses.Load() > 0 }

// Keep is a Begin without an end, for the connection of a known client.
func (p *Place) Keep() {
	if p != nil && !p.kept.Load() && p.kept.CompareAndSwap(false, true) {
		p.Begin()
	}
}

// hear records that the connection is not silent.
func (p *Place) hear() {
	if !p.heard.Load() {
		p.heard.Store(true)
	}
}

// received records that n bytes have arrived. It waits while the client does not receive written data, or while many calls wait for a
// processor. The end of a connection does not wait, since its calls end with it.
func (p *Place) received(n int) error {
	p.hear()
	p.writes.read(n)
	if n == 0 || p.oneByOne {
		return nil
	}
	few, err := p.of.pace.wait(p)
	if !few {
		p.of.tell("calls come faster than they end: connections are read in turn", p)
	}
	return err
}

// piece is the part of b that may be read at once.
func (p *Place) piece(b []byte) []byte {
	if p.oneByOne {
		return b
	}
	return b[:p.of.pace.piece(p, len(b))]
}

// callCame counts a call whose goroutine has not begun.
func (p *Place) callCame() {
	p.called.Store(true)
	waits := int64(1)
	if p.calls.Add(2)%2 != 0 {
		waits++
	}
	p.of.pace.backlog.Add(waits)
}

// callStarts records that the goroutine of a call has begun.
func (p *Place) callStarts() { p.of.pace.backlog.Add(-1) }

// callOver records the end of a call that may never have begun.
func (p *Place) callOver(waited bool) {
	var waits int64
	if waited {
		waits++
	}
	if p.calls.Add(-2)%2 != 0 {
		waits++
	}
	p.of.pace.backlog.Add(-waits)
}

// callsLeft counts the calls left behind by a closed connection.
func (p *Place) callsLeft() {
	if before := p.calls.Or(1); before%2 == 0 {
		p.of.pace.backlog.Add(before / 2)
	}
}

// gone reports whether the connection has been closed on this side.
func (p *Place) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// know moves a place to the connections that have had a call.
func (p *Places) know(place *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.at != nil {
		place.at.remove(place)
		p.known.add(place)
	}
}

// close returns the place. Data that the client has not received is dropped.
func (p *Place) close() {
	p.callsLeft()
	p.of.mu.Lock()
	p.of.leave(p)
	p.of.mu.Unlock()
	p.mu.Lock()
	dropped := p.replies
	p.replies, p.closed = nil, true
	p.mu.Unlock()
	for d := range dropped {
		d.over()
	}
}

// depart registers a reply to be sent; it returns false if there is no connection for it.
func (p *Place) depart(d *departing) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.replies == nil {
		p.replies = map[*departing]struct{}{}
	}
	p.replies[d] = struct{}{}
	p.owes.Store(int64(len(p.replies)))
	return true
}

// departed records that the reply is no longer being sent.
func (p *Place) departed(d *departing) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.replies, d)
	p.owes.Store(int64(len(p.replies)))
}

// PlaceOf returns the place of the connection of a gRPC call, or of an HTTP request with ConnContext; nil if it has none.
func PlaceOf(ctx context.Context) *Place {
	if p, ok := ctx.Value(placeKey{}).(*Place); ok {
		return p
	}
	if from, ok := peer.FromContext(ctx); ok {
		return placeAt(from.Addr)
	}
	return nil
}

// cut closes the connection and logs why, from time to time.
func (p *Place) cut(why string) {
	_ = p.raw.Close() // its server closes it again
	p.of.tell(why, p)
}

// ConnPlace returns the place of a connection, or of the one below it; nil if it has none.
func ConnPlace(c net.Conn) *Place { return placeAt(c.RemoteAddr()) }

type placeKey struct{}

// ConnContext is the ConnContext of an http.Server whose listener has places.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if p := ConnPlace(c); p != nil {
		p.oneByOne = true // reading has not begun
		return context.WithValue(ctx, placeKey{}, p)
	}
	return ctx
}

// address is the remote address of a connection with a place: TLS and gRPC pass it on.
type address struct {
	net.Addr
	place *Place
}

// MarshalText implements encoding.TextMarshaler.
func (a *address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func placeAt(a net.Addr) *Place {
	if a, ok := a.(*address); ok {
		return a.place
	}
	return nil
}

// conn returns a connection that returns its place when closed. TCP connections keep their other abilities, such as writing many pieces at once.
func (p *Place) conn() net.Conn {
	remote := &address{p.raw.RemoteAddr(), p}
	if t, ok := p.raw.(*net.TCPConn); ok {
		return &tcpConn{t, remote}
	}
	return &conn{p.raw, remote}
}

// tcpConn is a TCP connection with a place.
type tcpConn struct {
	*net.TCPConn
	remote *address
}

// RemoteAddr implements net.Conn.
func (c *tcpConn) RemoteAddr() net.Addr { return c.remote }

// Read implements net.Conn.
func (c *tcpConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(c.remote.place.piece(b))
	if left := c.remote.place.received(n); left != nil {
		return 0, left
	}
	return n, err
}

// Write implements net.Conn.
func (c *tcpConn) Write(b []byte) (int, error) {
	w := &c.remote.place.writes
	w.begin()
	n, err := c.TCPConn.Write(b)
	w.end(n)
	return n, err
}

// Close implements net.Conn.
func (c *tcpConn) Close() error {
	defer c.remote.place.close()
	return c.TCPConn.Close()
}

// Direct returns the connection below, for writes without any changes.
func (c *tcpConn) Direct() net.Conn { return c.TCPConn }

// conn is any other connection with a place.
type conn struct {
	net.Conn
	remote *address
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(c.remote.place.piece(b))
	if left := c.remote.place.received(n); left != nil {
		return 0, left
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	w := &c.remote.place.writes
	w.begin()
	n, err := c.Conn.Write(b)
	w.end(n)
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.remote.place.close()
	return c.Conn.Close()
}

// Direct returns the connection below, as tcpConn.Direct does.
func (c *conn) Direct() net.Conn { return c.Conn }
