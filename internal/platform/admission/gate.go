package admission

import (
	"context"

	"google.golang.org/grpc"
)

// Gate admits calls to a gRPC server by their headers: services registered through it receive no message of a call
// before Admit has accepted it. An interceptor comes too late for that: gRPC calls it after the message of a unary
// call was received and decompressed.
type Gate struct {
	grpc.ServiceRegistrar
	Admit func(ctx context.Context, method string) error // returns why a call is refused; nil: it is admitted
}

// RegisterService implements grpc.ServiceRegistrar. The interceptors of the server also see refused calls, without
// their message.
func (g Gate) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods, d.Streams = nil, nil
	for _, m := range desc.Methods {
		d.Methods = append(d.Methods, g.unary("/"+d.ServiceName+"/"+m.MethodName, m))
	}
	for _, s := range desc.Streams {
		d.Streams = append(d.Streams, g.stream("/"+d.ServiceName+"/"+s.StreamName, s))
	}
	g.ServiceRegistrar.RegisterService(&d, impl)
}

func (g Gate) unary(method string, m grpc.MethodDesc) grpc.MethodDesc {
	handle := m.Handler
	m.Handler = func(srv any, ctx context.Context, receive func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
		err := g.Admit(ctx, method)
		switch {
		case err == nil:
			return handle(srv, ctx, receive, wrap)
		case wrap == nil:
			return nil, err
		}
		return wrap(ctx, nil, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, func(context.Context, any) (any, error) { return nil, err })
	}
	return m
}

func (g Gate) stream(method string, s grpc.StreamDesc) grpc.StreamDesc {
	handle := s.Handler
	s.Handler = func(srv any, stream grpc.ServerStream) error {
		if err := g.Admit(stream.Context(), method); err != nil {
			return err
		}
		return handle(srv, stream)
	}
	return s
}
