package cluster

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// watchedConn is a connection that tells how its first read went, and whether a
// write is stuck.
type watchedConn struct {
	net.Conn
	onFirstRead  func(p []byte, err error) // nil: nobody wants to know
	readBefore   bool
	writingSince atomic.Int64 // unix nanoseconds, 0: no write is going on
	closed       func()
	once         sync.Once
}

// Read is called by one goroutine at a time.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.readBefore && (n > 0 || err != nil) {
		c.readBefore = true
		if c.onFirstRead != nil {
			c.onFirstRead(p[:n], err)
		}
	}
	return n, err
}

func (c *watchedConn) Write(p []byte) (int, error) {
	c.writingSince.Store(time.Now().UnixNano())
	defer c.writingSince.Store(0)
	return c.Conn.Write(p)
}

func (c *watchedConn) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// stuck reports whether a write has been going on for d.
func (c *watchedConn) stuck(d time.Duration) bool {
	since := c.writingSince.Load()
	return since != 0 && time.Since(time.Unix(0, since)) >= d
}

// connSet holds the live connections of one peer, or of a server.
type connSet struct {
	mu    sync.Mutex
	conns map[*watchedConn]struct{}
}

// add watches c until it is closed.
func (s *connSet) add(c net.Conn, onFirstRead func([]byte, error)) *watchedConn {
	w := &watchedConn{Conn: c, onFirstRead: onFirstRead}
	w.closed = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		s.conns = map[*watchedConn]struct{}{}
	}
	s.conns[w] = struct{}{}
	return w
}

// of returns the set that holds c alone.
func setOf(c *watchedConn) *connSet { return &connSet{conns: map[*watchedConn]struct{}{c: {}}} }

// writing reports whether a write has been going on for d on any connection.
func (s *connSet) writing(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.stuck(d) {
			return true
		}
	}
	return false
}

// closeWriting closes the connections in whose write d have passed.
func (s *connSet) closeWriting(d time.Duration) {
	s.mu.Lock()
	var stuck []*watchedConn
	for c := range s.conns {
		if c.stuck(d) {
			stuck = append(stuck, c)
		}
	}
	s.mu.Unlock()
	for _, c := range stuck {
		c.Close()
	}
}
