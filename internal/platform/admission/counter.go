package admission

import (
	"context"
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

// CountCalls is an option for grpc.NewServer: the server counts calls by connection. Connections with Places are read more slowly while
// many calls wait for a processor. All services must be registered through Counted.
func CountCalls() grpc.ServerOption { return grpc.InTapHandle(arrive) }

// arrive counts a call before its goroutine begins.
func arrive(ctx context.Context, _ *tap.Info) (context.Context, error) {
	place := PlaceOf(ctx)
	if place == nil || ctx.Err() != nil { // gRPC starts no goroutine for a call that has ended
		return ctx, nil
	}
	c := &countedCall{place: place}
	place.callCame()
	c.stop = context.AfterFunc(ctx, c.abandoned)
	return context.WithValue(ctx, countedKey{}, c), nil
}

// Counted returns a registrar for the services of a server that counts calls. It registers them with r.
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

// countedCall is a counted call.
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

// startCall records that the goroutine of the call of ctx has begun; it returns nil if the call is not counted.
func startCall(ctx context.Context) *countedCall {
	c, _ := ctx.Value(countedKey{}).(*countedCall)
	if c != nil && c.state.CompareAndSwap(callArrived, callStarted) {
		c.stop()
		c.place.callStarts()
	}
	return c
}

// abandoned records the end of a call whose context ends before it has started: gRPC has refused it, for its method or its encoding, or its
// client has left. If the client left, the call's goroutine still waits for a processor, and this one yields to it.
func (c *countedCall) abandoned() {
	runtime.Gosched()
	c.end()
}

// end records that the call has ended.
func (c *countedCall) end() {
	if c == nil {
		return
	}
	if was := c.state.Swap(callEnded); was != callEnded {
		c.place.callOver(was == callArrived)
	}
}
