package transport

import (
	"context"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// serverCall is a call at the server.
type serverCall struct {
	link   *serverLink
	number uint32
	method string
	ctx    context.Context
	cancel context.CancelFunc

	body  mem.BufferSlice // the message, if it came in one frame
	parts *incoming       // the message, if it comes in parts
	taken chan struct{}   // closed when the method asks for a message in parts
	come  chan struct{}   // closed when it is complete, or fault is set
	over  chan struct{}   // closed when the method has returned

	mu              sync.Mutex
	arrived         bool
	fault           error
	timer           *time.Timer // ends the call if the message does not arrive
	since           int         // bytes since the timer was set
	arrival         time.Duration
	gone            bool // the client no longer waits for the response
	header, trailer metadata.MD
}

// newCall makes a call; end ends it.
func (l *serverLink) newCall(number uint32, head requestHead) *serverCall {
	c := &serverCall{link: l, number: number, method: head.method}
	ctx := l.ctx
	if head.header != nil {
		ctx = metadata.NewIncomingContext(ctx, head.header)
	}
	ctx = grpc.NewContextWithServerTransportStream(ctx, c)
	if head.timeout > 0 {
		c.ctx, c.cancel = context.WithTimeout(ctx, head.timeout)
	} else {
		c.ctx, c.cancel = context.WithCancel(ctx)
	}
	if head.sizes != nil {
		c.parts = &incoming{sizes: head.sizes}
		c.taken, c.come, c.over = make(chan struct{}), make(chan struct{}), make(chan struct{})
	}
	return c
}

// answer runs the method, and sends its result.
func (c *serverCall) answer() {
	defer c.link.done.Done()
	defer c.link.server.end()
	defer c.end()
	out, err := c.run()
	c.mu.Lock()
	head := &responseHead{header: c.header, trailer: c.trailer}
	gone := c.gone
	c.mu.Unlock()
	c.leave()
	if gone {
		return
	}
	if err != nil {
		head.status, out = statusOf(err), nil
	}
	o, err := encode(response, c.number, head, out)
	if err != nil {
		o, err = encode(response, c.number, &responseHead{status: statusOf(err)}, nil)
	}
	if err != nil {
		c.link.close(err)
		return
	}
	_ = c.link.send(context.Background(), o) // a failed link is closed
	o.free()
}

// run calls the method.
func (c *serverCall) run() (any, error) {
	m, err := c.link.server.find(c.method)
	if err != nil {
		return nil, err
	}
	return m.Handler(m.impl, c.ctx, c.take, nil)
}

// statusOf returns the status that gRPC gives an error.
func statusOf(err error) *status.Status {
	if s, ok := status.FromError(err); ok {
		return s
	}
	return status.FromContextError(err)
}

// end removes the call from its link. A client that does not read responses cannot have more calls than the limit.
func (c *serverCall) end() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	delete(c.link.calls, c.number)
}

// leave ends the method, and frees the received part of its message.
func (c *serverCall) leave() {
	c.cancel()
	c.body.Free()
	c.body = nil
	if c.parts != nil {
		c.parts.end()
		close(c.over)
	}
}

// lost ends a call whose client no longer waits.
func (c *serverCall) lost() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.cancel()
}

// take receives the message without an account.
func (c *serverCall) take(m any) error {
	typed, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "expected a message of Protocol Buffers, got a %T", m)
	}
	return c.Receive(typed, admission.Payer{Most: maxMessage, Codec: codec.Codec{}, Cost: func(mem.BufferSlice, proto.Message) int { return 0 }})
}

// Receive implements admission.Receiver.
func (c *serverCall) Receive(m proto.Message, p admission.Payer) error {
	data := c.body
	if c.parts != nil {
		var err error
		if data, err = c.await(p); err != nil {
			return err
		}
	} else if data == nil {
		return status.Error(codes.Internal, "the message was received already")
	} else if err := p.Account.Reserve(data.Len()); err != nil {
		return err
	} else {
		p.Account.Received(data.Len())
		defer p.Account.Release(data.Len())
		c.body = nil
		defer data.Free()
	}
	if cost := p.Cost(data, m) - kept(data); cost > 0 {
		if err := p.Account.Reserve(cost); err != nil {
			return err
		}
	}
	if err := p.Codec.Unmarshal(data, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// kept is the number of bytes of a message that its tensors keep, and that are paid for.
func kept(data mem.BufferSlice) (n int) {
	for _, b := range data {
		if _, ok := b.(codec.Owned); ok {
			n += b.Len()
		}
	}
	return n
}

// window is how much of a message must arrive within the time limit.
const window = 16 << 20

// await waits for a message in parts; the payer pays as they arrive.
func (c *serverCall) await(p admission.Payer) (mem.BufferSlice, error) {
	c.parts.pay, c.parts.give, c.parts.stop = p.Account.Reserve, p.Account.Release, c.link.in.stop
	if p.Arrival > 0 {
		c.mu.Lock()
		c.arrival = p.Arrival
		c.timer = time.AfterFunc(p.Arrival, func() {
			c.arrive(status.Errorf(codes.DeadlineExceeded, "the next part of the message did not come whole within %v", p.Arrival))
		})
		c.mu.Unlock()
	}
	close(c.taken)
	select {
	case <-c.come:
	case <-c.ctx.Done():
		c.arrive(status.FromContextError(c.ctx.Err()).Err())
		<-c.come
	}
	if c.fault != nil {
		return nil, c.fault
	}
	p.Account.Received(c.parts.whole.Len())
	return c.parts.whole, nil
}

// arrive records that the message is complete, or why it will not be.
func (c *serverCall) arrive(fault error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arrived {
		return
	}
	c.arrived, c.fault = true, fault
	if c.timer != nil {
		c.timer.Stop()
	}
	if fault != nil {
		c.parts.end()
	}
	close(c.come)
}

// progress records that a part of the message has arrived.
func (c *serverCall) progress(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since += n; c.since >= window && c.timer != nil && !c.arrived {
		c.since = 0
		c.timer.Reset(c.arrival)
	}
}

// Method implements grpc.ServerTransportStream.
func (c *serverCall) Method() string { return c.method }

// SetHeader implements grpc.ServerTransportStream.
func (c *serverCall) SetHeader(md metadata.MD) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = metadata.Join(c.header, md)
	return nil
}

// SendHeader implements grpc.ServerTransportStream: the header goes with the response.
func (c *serverCall) SendHeader(md metadata.MD) error { return c.SetHeader(md) }

// SetTrailer implements grpc.ServerTransportStream.
func (c *serverCall) SetTrailer(md metadata.MD) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trailer = metadata.Join(c.trailer, md)
	return nil
}

var (
	_ grpc.ServerTransportStream = (*serverCall)(nil)
	_ admission.Receiver         = (*serverCall)(nil)
)
