package cluster

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
)

func (n *Node) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, n.config.CallTimeout)
}

// Call sends a request to a task and returns its answer, which the caller
// releases. It waits for a task that is not up yet, until the context's
// deadline, or for the call timeout where the context has none. Errors that
// come from the peer or the way to it are *PeerError.
func (n *Node) Call(ctx context.Context, to Task, method string, req *Frame) (*Frame, error) {
	p, err := n.peer(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := n.withDeadline(n.identify(ctx))
	defer cancel()
	answer := new(Frame)
	if err := p.conn.Invoke(ctx, method, req, answer, grpc.WaitForReady(true), grpc.CallContentSubtype(codecName)); err != nil {
		return nil, p.failure(ctx, short(method), err)
	}
	return answer, nil
}

// Stream opens a stream to a task; it waits for the task as Call does. The
// stream itself has no deadline but the context's: a silent peer ends it after
// the peer timeout.
func (n *Node) Stream(ctx context.Context, to Task, method string) (ClientStream, error) {
	p, err := n.peer(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(n.identify(ctx))
	late := time.AfterFunc(n.config.CallTimeout, func() { cancel(context.DeadlineExceeded) })
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	s, err := p.conn.NewStream(ctx, desc, method, grpc.WaitForReady(true), grpc.CallContentSubtype(codecName))
	if !late.Stop() && err == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		cancel(err)
		return nil, p.failure(ctx, short(method), err)
	}
	return &clientStream{peer: p, method: short(method), stream: s, ctx: ctx, cancel: cancel}, nil
}

// short returns the method's name without the service's.
func short(method string) string { return method[strings.LastIndexByte(method, '/')+1:] }

// clientStream is the calling side of a stream.
type clientStream struct {
	peer   *peer
	method string
	stream grpc.ClientStream
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Send sends a frame; the error says what ended the stream where it ended.
func (s *clientStream) Send(f *Frame) error {
	err := s.stream.SendMsg(f)
	if errors.Is(err, io.EOF) { // the stream is over: only receiving tells why
		err = s.stream.RecvMsg(new(Frame))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.cancel(err)
		err = s.peer.failure(s.ctx, s.method, err)
	}
	return err
}

// Recv receives a frame; io.EOF at the peer's end.
func (s *clientStream) Recv() (*Frame, error) {
	f := new(Frame)
	err := s.stream.RecvMsg(f)
	if err == nil {
		return f, nil
	}
	s.cancel(err)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	return nil, s.peer.failure(s.ctx, s.method, err)
}

func (s *clientStream) CloseSend() error { return s.stream.CloseSend() }
