package admission

import (
	"context"
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

// CountCalls is an option for grpc.NewServer: the calls of the server are counted by the connections that they come by. Where these have
// Places, they are read more slowly while many calls wait for a processor. All services are registered through Counted.
func CountCalls() grpc.ServerOption { return grpc.InTapHandle(arrive) }

// arrive counts a call before its goroutine begins.
func arrive(ctx context.Context, _ *tap.Info) (context.Context, error) {
	place := PlaceOf(ctx)
	if place == nil || ctx.Err() != nil { // gRPC begins no goroutine for a call that is over
		return ctx, nil
	}
	c := &countedCall{place: place}
	place.callCame()
	c.stop = context.AfterFunc(ctx, c.abandoned)
	return context.WithValue(ctx, countedKey{}, c), nil
}

// Counted returns a place to register services of a server that counts calls. It registers them with r.
func Counted(r grpc.ServiceRegistrar) grpc.ServiceRegistrar { return countedServices{r} }

type countedServices struct{ next grpc.ServiceRegistrar }

// RegisterService implements grpc.ServiceRegistrar.
func (s countedServices) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods, d.Streams = nil, nil
	for _, m := range desc.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, receive func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
			defer startCall(ctx).end()
			return handle(srv, ctx, receive, wrap)
		}
		d.Methods = append(d.Methods, m)
	}
	for _, m := range desc.Streams {
		handle := m.Handler
		m.Handler = func(srv any, stream grpc.ServerStream) error {
			defer startCall(stream.Context()).end()
			return handle(srv, stream)
		}
		d.Streams = append(d.Streams, m)
	}
	s.next.RegisterService(&d, impl)
}

// countedCall is a call that is counted.
type countedCall struct {
	place *Place
	state atomic.Int32
	stop  func() bool // of abandoned
}

// States of a countedCall.
const (
	callArrived = iota
	callStarted
	callEnded
)

type countedKey struct{}

// startCall notes that the goroutine of the call of ctx has begun; nil where the call is not counted.
func startCall(ctx context.Context) *countedCall {
	c, _ := ctx.Value(countedKey{}).(*countedCall)
	if c != nil && c.state.CompareAndSwap(callArrived, callStarted) {
		c.stop()
		c.place.callStarts()
	}
	return c
}

// abandoned notes the end of a call that has not started when its context ends: gRPC has refused it, for its method or its encoding, or its
// client has left. In the latter case its goroutine still waits, and this one waits behind it.
func (c *countedCall) abandoned() {
	runtime.Gosched()
	c.end()
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
