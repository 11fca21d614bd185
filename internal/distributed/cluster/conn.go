package cluster

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	grpcpeer "google.golang.org/grpc/peer"

	"github.com/goestimator/goestimator/internal/platform/moment"
)

// watchedConn is a gRPC connection that detects stuck writes and records when bytes arrived. When it
// is closed, it also closes the objects that belong to it.
type watchedConn struct {
	net.Conn
	sums         *summed       // the type of Conn in plaintext
	writingSince moment.Moment // none: no write is in progress
	readAt       moment.Moment // when bytes last arrived
	closed       atomic.Bool

	mu    sync.Mutex
	owned map[io.Closer]struct{}
}

// damaged ends the connection after bytes that belong to it were damaged, and tells the peer.
func (c *watchedConn) damaged() {
	if c.sums != nil {
		c.sums.alert()
		time.AfterFunc(alertTime, func() { c.Close() })
	}
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.readAt.Note()
	}
	return n, err
}

// readSince reports whether bytes have arrived since a time.
func (c *watchedConn) readSince(t time.Time) bool {
	at, ok := c.readAt.Time()
	return ok && !at.Before(t)
}

func (c *watchedConn) Write(p []byte) (int, error) {
	c.writingSince.Note()
	defer c.writingSince.Clear()
	return c.Conn.Write(p)
}

func (c *watchedConn) Close() error {
	c.closed.Store(true)
	err := c.Conn.Close()
	c.mu.Lock()
	owned := c.owned
	c.owned = nil
	c.mu.Unlock()
	for o := range owned {
		o.Close()
	}
	return err
}

// adopt closes o with this connection, and reports whether the connection is open.
func (c *watchedConn) adopt(o io.Closer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return false
	}
	if c.owned == nil {
		c.owned = map[io.Closer]struct{}{}
	}
	c.owned[o] = struct{}{}
	return true
}

// release undoes adopt.
func (c *watchedConn) release(o io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owned, o)
}

// stuck reports whether a write has been in progress for d.
func (c *watchedConn) stuck(d time.Duration) bool { return c.writingSince.Lasts(d) }

// isClosed reports whether Close was called.
func (c *watchedConn) isClosed() bool { return c.closed.Load() }

// connOf returns the connection of a call from the context of its stream, or nil if it is unknown.
func connOf(p *grpcpeer.Peer) *watchedConn {
	if p == nil {
		return nil
	}
	info, _ := p.AuthInfo.(authInfo)
	return info.conn
}
