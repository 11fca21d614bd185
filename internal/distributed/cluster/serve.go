package cluster

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// describe returns the gRPC description of a service. Unary methods are served
// as streams with one message each way, which is the same on the wire and lets
// the node see when an answer was sent.
func (n *Node) describe(s Service) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: s.Name}
	for name, h := range s.Unary {
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: n.guard("/"+s.Name+"/"+name, n.answer(h)), ServerStreams: true, ClientStreams: true})
	}
	for name, h := range s.Streams {
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: n.guard("/"+s.Name+"/"+name, h), ServerStreams: true, ClientStreams: true})
	}
	return d
}

// answer serves one call as a stream.
func (n *Node) answer(h Handler) StreamHandler {
	return func(ctx context.Context, s Stream) error {
		n.calls.Add(1)
		defer n.calls.Add(-1)
		req, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "the call has no message")
		}
		if err != nil {
			return err
		}
		defer req.Release() // after the answer, which may use its memory
		f, err := h(ctx, req)
		if f != nil && f.Done != nil {
			defer f.Done()
		}
		if err != nil {
			return err
		}
		if f == nil {
			f = new(Frame)
		}
		return s.Send(f)
	}
}

// guard turns a panic of a handler into an error of its call.
func (n *Node) guard(method string, h StreamHandler) grpc.StreamHandler {
	return func(_ any, s grpc.ServerStream) (err error) {
		defer func() {
			if r := recover(); r != nil {
				n.config.Log.Error("a handler panicked", "task", n.config.Task.String(), "method", method, "panic", r, "stack", string(debug.Stack()))
				err = status.Errorf(codes.Internal, "%v: %s panicked: %v", n.config.Task, method, r)
			}
		}()
		slot, err := n.bulkServer.bind(s.Context())
		switch {
		case err != nil:
			return err
		case slot != nil:
			return serveBulk(s, slot, h)
		}
		p, _ := grpcpeer.FromContext(s.Context())
		return h(s.Context(), &serverStream{stream: s, limit: n.config.MaxMessageBytes, conn: connOf(p)})
	}
}

// serverStream is the serving side of a stream.
type serverStream struct {
	stream grpc.ServerStream
	limit  int
	conn   *watchedConn // through which it came
}

func (s *serverStream) Send(f *Frame) error {
	o, err := newOutgoing(f, s.limit)
	if err != nil {
		return err
	}
	err = s.stream.SendMsg(o)
	o.wait(s.stream.Context().Done(), s.conn)
	return err
}

func (s *serverStream) Recv() (*Frame, error) {
	f := new(Frame)
	if err := s.stream.RecvMsg(f); err != nil {
		return nil, err
	}
	return f, nil
}
