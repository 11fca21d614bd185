package admission

import (
	"net"
	"sync"
	"sync/atomic"
)

// Places are how many connections some listeners may have together. One beyond them is closed at once, before anything of it
// is read: a client that opens connections without end takes neither the memory nor the open files of the process.
type Places struct {
	most int64
	open atomic.Int64
}

// NewPlaces returns so many places, and no more than half of the files that the process may have open.
func NewPlaces(most int) *Places {
	p := &Places{most: int64(most)}
	if files := openFiles(); files > 0 {
		p.most = min(p.most, max(files/2, 1))
	}
	return p
}

// Open returns how many connections there are.
func (p *Places) Open() int64 { return p.open.Load() }

// Listener returns a listener whose connections take places.
func (p *Places) Listener(l net.Listener) net.Listener { return &placed{l, p} }

type placed struct {
	net.Listener
	p *Places
}

// Accept implements net.Listener.
func (l *placed) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.p.open.Add(1) <= l.p.most {
			return l.place(c), nil
		}
		l.p.open.Add(-1)
		_ = c.Close() // of somebody who has too many
	}
}

// place makes a connection give its place back when it is closed. One of TCP stays one in all else, such as writing many pieces at once.
func (l *placed) place(c net.Conn) net.Conn {
	leave := sync.OnceFunc(func() { l.p.open.Add(-1) })
	if t, ok := c.(*net.TCPConn); ok {
		return &tcpConn{t, leave}
	}
	return &conn{c, leave}
}

// tcpConn is a connection of TCP that has a place.
type tcpConn struct {
	*net.TCPConn
	leave func()
}

// Close implements net.Conn.
func (c *tcpConn) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

// Direct returns the connection that has the place: nothing of what is written is changed.
func (c *tcpConn) Direct() net.Conn { return c.TCPConn }

// conn is another connection that has a place.
type conn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// Direct is that of tcpConn.
func (c *conn) Direct() net.Conn { return c.Conn }
