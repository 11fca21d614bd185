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

// watchedConn is a gRPC connection that tells whether a write is stuck, and when bytes came. It takes
// along, when it is closed, what belongs to it.
type watchedConn struct {
	net.Conn
	sums         *summed       // what Conn is, where it is in plaintext
	writingSince moment.Moment // none: no write is going on
	readAt       moment.Moment // when bytes came last
	closed       atomic.Bool

	mu    sync.Mutex
	owned map[io.Closer]struct{}
}

// damaged ends the connection, which bytes that belong to it were damaged on, and
// tells the peer.
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

// readSince reports whether bytes have come since a time.
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

// adopt makes o be closed with this connection; it reports whether that is open.
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

// release is the end of adopt.
func (c *watchedConn) release(o io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owned, o)
}

// stuck reports whether a write has been going on for d.
func (c *watchedConn) stuck(d time.Duration) bool { return c.writingSince.Lasts(d) }

// isClosed reports whether Close was called.
func (c *watchedConn) isClosed() bool { return c.closed.Load() }

// connOf returns the connection that a call goes by, as the context of its
// stream tells; nil where it does not.
func connOf(p *grpcpeer.Peer) *watchedConn {
	if p == nil {
		return nil
	}
	info, _ := p.AuthInfo.(authInfo)
	return info.conn
}
