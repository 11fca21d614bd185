package cluster

import "context"

// Handler answers one call. req is released after the answer was sent. An error
// should be a gRPC status error with a meaningful code; any other reaches the
// caller with code Unknown. A panic becomes an Internal error.
type Handler func(ctx context.Context, req *Frame) (*Frame, error)

// StreamHandler serves one stream, which ends when it returns.
type StreamHandler func(ctx context.Context, s Stream) error

// Stream sends and receives frames in both directions. One goroutine may send
// while another receives. Send returns when the chunks of the frame may be
// changed; for that it may wait for the peer (see Window). Recv returns io.EOF
// at the peer's end; Next receives without a copy.
type Stream interface {
	Send(*Frame) error
	Recv() (*Frame, error)
}

// ClientStream is the calling side of a stream. It ends with Recv's error, or
// with the context with which it was opened, which the caller must cancel.
type ClientStream interface {
	Stream
	// CloseSend says that no more frames will be sent.
	CloseSend() error
}

// Service is a set of methods: Name is like "goestimator.Collective", and its
// method "Send" is called as "/goestimator.Collective/Send".
type Service struct {
	Name    string
	Unary   map[string]Handler
	Streams map[string]StreamHandler
}

// Client is the calling half of a Node.
type Client interface {
	// Call sends a request and returns the answer, which the caller must
	// release.
	Call(ctx context.Context, to Task, method string, req *Frame) (*Frame, error)
	// Stream opens a stream that lives until ctx ends.
	Stream(ctx context.Context, to Task, method string) (ClientStream, error)
}

// Peer is a caller as it declared itself.
type Peer struct {
	Task        Task
	Incarnation uint64
}
