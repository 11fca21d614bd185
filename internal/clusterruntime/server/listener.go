package server

import (
	"net"
	"sync"
	"sync/atomic"
)

// listener counts connections, and closes those beyond maxConnections at once.
type listener struct {
	net.Listener
	open *atomic.Int64
}

// Counted returns a listener for another server that has the services, see Register: its connections are this server's clients.
func (s *Server) Counted(l net.Listener) net.Listener {
	return &listener{Listener: l, open: &s.clients}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= maxConnections {
			return &conn{c, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		_ = c.Close() // of somebody who has too many
	}
}

// conn is a connection that is counted.
type conn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// Direct returns the connection that is counted: nothing of what is written is changed.
func (c *conn) Direct() net.Conn { return c.Conn }
