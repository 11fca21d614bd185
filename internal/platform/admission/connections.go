package admission

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// perConnection counts the calls that go on, by connection.
type perConnection struct {
	limit int // 0: any number

	mu    sync.Mutex
	calls map[net.Addr]int // by gRPC's address of the connection, one per connection
}

// begin counts a call until its end.
func (c *perConnection) begin(ctx context.Context) (end func(), err error) {
	from, ok := peer.FromContext(ctx)
	if c.limit == 0 || !ok {
		return func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[from.Addr] == c.limit {
		return nil, status.Errorf(codes.ResourceExhausted, "the connection has %d such calls going on already", c.limit)
	}
	if c.calls == nil {
		c.calls = map[net.Addr]int{}
	}
	c.calls[from.Addr]++
	return func() { c.end(from.Addr) }, nil
}

func (c *perConnection) end(from net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[from]--; c.calls[from] == 0 {
		delete(c.calls, from)
	}
}
