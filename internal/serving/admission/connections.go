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
	most int // 0: any number

	mu  sync.Mutex
	now map[net.Addr]int // by the address as gRPC has it, of which each connection has its own
}

// begin counts a call until its end.
func (c *perConnection) begin(ctx context.Context) (end func(), err error) {
	from, ok := peer.FromContext(ctx)
	if c.most == 0 || !ok {
		return func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now[from.Addr] == c.most {
		return nil, status.Errorf(codes.ResourceExhausted, "the connection has %d such calls going on already", c.most)
	}
	if c.now == nil {
		c.now = map[net.Addr]int{}
	}
	c.now[from.Addr]++
	return func() { c.end(from.Addr) }, nil
}

func (c *perConnection) end(from net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now[from]--; c.now[from] == 0 {
		delete(c.now, from)
	}
}
