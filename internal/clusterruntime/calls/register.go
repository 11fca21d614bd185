package calls

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/fault"
	"google.golang.org/grpc"
)

// Through returns a registrar for services with these calls. It registers them with r.
func (c *Calls) Through(r grpc.ServiceRegistrar) grpc.ServiceRegistrar { return registrar{c, r} }

// registrar registers services whose calls a Calls admits.
type registrar struct {
	calls *Calls
	next  grpc.ServiceRegistrar
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods, d.Streams = nil, nil
	for _, m := range desc.Methods {
		d.Methods = append(d.Methods, r.unary(d.ServiceName, m))
	}
	for _, s := range desc.Streams {
		d.Streams = append(d.Streams, r.stream(d.ServiceName, s))
	}
	r.next.RegisterService(&d, impl)
}

// unary is a method whose calls are admitted first. Nothing of its message is received before that.
func (r registrar) unary(service string, m grpc.MethodDesc) grpc.MethodDesc {
	handle, name := m.Handler, m.MethodName
	m.Handler = func(srv any, ctx context.Context, receive func(any) error, wrap grpc.UnaryServerInterceptor) (out any, err error) {
		one, err := r.calls.begin(ctx, service, name)
		if err != nil {
			return nil, err
		}
		defer func() {
			if p := recover(); p != nil {
				out, err = nil, failed(service, name, p)
			}
			err = one.done(err)
		}()
		if out, err = handle(srv, one.ctx, func(m any) error { return one.receive(m, false, receive) }, wrap); err != nil {
			return nil, err
		}
		return one.reply(out)
	}
	return m
}

// stream is a streaming method whose calls are admitted first.
func (r registrar) stream(service string, s grpc.StreamDesc) grpc.StreamDesc {
	handle, name := s.Handler, s.StreamName
	s.Handler = func(srv any, stream grpc.ServerStream) (err error) {
		one, err := r.calls.begin(stream.Context(), service, name)
		if err != nil {
			return err
		}
		defer func() {
			if p := recover(); p != nil {
				err = failed(service, name, p)
			}
			err = one.done(err)
		}()
		return handle(srv, streamOf{stream, one})
	}
	return s
}

// failed is the error of a method that panicked.
func failed(service, method string, p any) error {
	err := fault.New(service+"/"+method, p)
	fault.Log(nil, err)
	return err
}

// streamOf is the stream of a call.
type streamOf struct {
	grpc.ServerStream
	one *call
}

// Context implements grpc.ServerStream.
func (s streamOf) Context() context.Context { return s.one.ctx }

// RecvMsg implements grpc.ServerStream.
func (s streamOf) RecvMsg(m any) error { return s.one.receive(m, true, s.ServerStream.RecvMsg) }

// SendMsg implements grpc.ServerStream.
func (s streamOf) SendMsg(m any) error {
	m, err := s.one.reply(m)
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}
