package admission

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

// Counter counts the calls of a gRPC server by the connections that they come by. Where these have Places, they are read more slowly while
// many calls wait for a processor. The server is made with its Option, and all services are registered Through it before the server serves.
type Counter struct{ methods map[string]bool }

// Option is for grpc.NewServer.
func (c *Counter) Option() grpc.ServerOption { return grpc.InTapHandle(c.arrive) }

// arrive counts a call before its goroutine begins.
func (c *Counter) arrive(ctx context.Context, info *tap.Info) (context.Context, error) {
	place := PlaceOf(ctx)
	if place == nil {
		return ctx, nil
	}
	one := &countedCall{Context: ctx, place: place}
	place.callCame()
	if !c.methods[info.FullMethodName] { // gRPC refuses it, which ends its context
		context.AfterFunc(ctx, one.end)
	}
	return one, nil
}

// Through returns a place to register services whose calls are counted. It registers them with r.
func (c *Counter) Through(r grpc.ServiceRegistrar) grpc.ServiceRegistrar {
	return countedServices{c, r}
}

type countedServices struct {
	counter *Counter
	next    grpc.ServiceRegistrar
}

// RegisterService implements grpc.ServiceRegistrar.
func (s countedServices) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods, d.Streams = nil, nil
	if s.counter.methods == nil {
		s.counter.methods = map[string]bool{}
	}
	for _, m := range desc.Methods {
		s.counter.methods["/"+d.ServiceName+"/"+m.MethodName] = true
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, receive func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
			defer startCall(ctx).end()
			return handle(srv, ctx, receive, wrap)
		}
		d.Methods = append(d.Methods, m)
	}
	for _, m := range desc.Streams {
		s.counter.methods["/"+d.ServiceName+"/"+m.StreamName] = true
		handle := m.Handler
		m.Handler = func(srv any, stream grpc.ServerStream) error {
			defer startCall(stream.Context()).end()
			return handle(srv, stream)
		}
		d.Streams = append(d.Streams, m)
	}
	s.next.RegisterService(&d, impl)
}

// countedCall is the context of a call that is counted.
type countedCall struct {
	context.Context
	place *Place
	state atomic.Int32
}

// States of a countedCall.
const (
	callArrived = iota
	callStarted
	callEnded
)

type countedKey struct{}

// Value implements context.Context.
func (c *countedCall) Value(key any) any {
	if key == (countedKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Err implements context.Context. gRPC asks it before it begins the goroutine of a call, and begins none for a call that is over.
func (c *countedCall) Err() error {
	err := c.Context.Err()
	if err != nil && c.state.CompareAndSwap(callArrived, callEnded) {
		c.place.callOver(true)
	}
	return err
}

// startCall notes that the goroutine of the call of ctx has begun; nil where the call is not counted.
func startCall(ctx context.Context) *countedCall {
	c, _ := ctx.Value(countedKey{}).(*countedCall)
	if c != nil && c.state.CompareAndSwap(callArrived, callStarted) {
		c.place.callStarts()
	}
	return c
}

// end notes that the call has ended.
func (c *countedCall) end() {
	if c == nil {
		return
	}
	if was := c.state.Swap(callEnded); was != callEnded {
		c.place.callOver(was == callArrived)
	}
}
