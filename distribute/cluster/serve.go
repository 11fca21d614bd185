package cluster

import (
	"context"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

func (n *Node) serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(n.security.server()),
		grpc.MaxRecvMsgSize(n.config.MaxMessageBytes + prefixLen),
		grpc.MaxSendMsgSize(n.config.MaxMessageBytes + prefixLen),
		grpc.MaxConcurrentStreams(1024),
		grpc.InTapHandle(n.admit),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: pingTimeout(n.config.PeerTimeout)}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}

// describe returns a service in gRPC's terms.
func (n *Node) describe(s Service) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: s.Name}
	for name, h := range s.Unary {
		d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: name, Handler: n.unary("/"+s.Name+"/"+name, h)})
	}
	for name, h := range s.Streams {
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: n.streaming("/"+s.Name+"/"+name, h), ServerStreams: true, ClientStreams: true})
	}
	return d
}

func (n *Node) unary(method string, h Handler) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (answer any, err error) {
		req := new(Frame)
		if err := decode(req); err != nil {
			return nil, err
		}
		defer n.recovered(method, &err)
		f, err := h(ctx, req)
		if err != nil {
			return nil, err
		}
		if f == nil {
			f = new(Frame)
		}
		return f, nil
	}
}

func (n *Node) streaming(method string, h StreamHandler) grpc.StreamHandler {
	return func(_ any, s grpc.ServerStream) (err error) {
		defer n.recovered(method, &err)
		return h(s.Context(), serverStream{s})
	}
}

// recovered turns a panic of a handler into an error of its call.
func (n *Node) recovered(method string, err *error) {
	if r := recover(); r != nil {
		n.config.Log.Error("a handler panicked", "task", n.config.Task.String(), "method", method, "panic", r, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%v: %s panicked: %v", n.config.Task, method, r)
	}
}

// serverStream is the serving side of a stream.
type serverStream struct{ stream grpc.ServerStream }

func (s serverStream) Send(f *Frame) error { return s.stream.SendMsg(f) }

func (s serverStream) Recv() (*Frame, error) {
	f := new(Frame)
	if err := s.stream.RecvMsg(f); err != nil {
		return nil, err
	}
	return f, nil
}
