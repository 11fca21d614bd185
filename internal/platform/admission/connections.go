package admission

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// perConnection counts running calls by connection. Connections do not wait for each other: with one lock for all, calls that a client
// keeps opening would pile up behind a goroutine that the garbage collector stops while it holds the lock.
type perConnection struct {
	limit int64 // 0: any number
	most  int64 // of all connections; beyond it, a connection that has a call gets no more
	total atomic.Int64
	calls sync.Map // *atomic.Int64 by gRPC's address of the connection, one per connection
}

// mostLimited is the most calls to a Limited on all connections together.
const mostLimited = 1 << 14

// dropped is the count of a connection without calls that was removed from the map.
const dropped = -1

// begin counts a call until its end.
func (c *perConnection) begin(ctx context.Context) (end func(), err error) {
	from, ok := peer.FromContext(ctx)
	if c.limit == 0 || !ok {
		return func() {}, nil
	}
	for {
		count := c.countOf(from.Addr)
		switch now := count.Load(); {
		case now == dropped:
			c.calls.CompareAndDelete(from.Addr, count)
		case now >= c.limit:
			return nil, status.Errorf(codes.ResourceExhausted, "the connection has %d such calls going on already", c.limit)
		case now > 0 && c.total.Load() >= c.most:
			return nil, status.Errorf(codes.ResourceExhausted, "all connections together have %d such calls going on, and this one has %d", c.most, now)
		case count.CompareAndSwap(now, now+1):
			c.total.Add(1)
			return func() { c.end(from.Addr, count) }, nil
		}
	}
}

// countOf returns the count of a connection.
func (c *perConnection) countOf(from net.Addr) *atomic.Int64 {
	count, ok := c.calls.Load(from)
	if !ok {
		count, _ = c.calls.LoadOrStore(from, new(atomic.Int64))
	}
	return count.(*atomic.Int64)
}

func (c *perConnection) end(from net.Addr, count *atomic.Int64) {
	c.total.Add(-1)
	if count.Add(-1) == 0 && count.CompareAndSwap(0, dropped) {
		c.calls.CompareAndDelete(from, count)
	}
}
