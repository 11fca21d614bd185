package admission

import (
	"context"

	"google.golang.org/grpc"
)

// Gate lets calls into a gRPC server by their headers: the services that are registered through it receive no
// message of a call before Admit has let it in. An interceptor comes too late for that: gRPC has received and
// decompressed the message of a unary call when it asks one.
type Gate struct {
	grpc.ServiceRegistrar
	Admit func(ctx context.Context, method string) error // why a call is refused; nil: it is let in
}

// RegisterService implements grpc.ServiceRegistrar. The interceptors of the server see calls that are refused too,
// without their message.
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
