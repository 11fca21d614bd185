package service

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/fault"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The names of the services on the wire.
const (
	Master = "tensorflow.MasterService"
	Worker = "tensorflow.WorkerService"
	Eager  = "tensorflow.eager.EagerService"
)

// Method is a function with the name of a method.
type Method struct {
	Name   string
	desc   grpc.MethodDesc
	stream grpc.StreamHandler // for methods whose callers send a stream of messages; nil for others
	call   func(ctx context.Context, in proto.Message) (proto.Message, error)
}

// message is a pointer to a message of type T.
type message[T any] interface {
	*T
	proto.Message
}

// guarded wraps the function of a method: panics become errors, and error texts are shortened to fit into the answer.
func guarded[In, Out any](name string, do func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fault.New(name, p)
				fault.Log(nil, err)
			}
			err = shortened(err)
		}()
		return do(ctx, in)
	}
}

// maxText is the largest error text in bytes, as in TensorFlow: clients refuse answers with large headers. Names in it may have megabytes.
const maxText = 3 << 10

func shortened(err error) error {
	if err == nil || len(err.Error()) <= maxText {
		return err
	}
	s := status.Convert(err).Proto()
	if len(s.GetMessage()) > maxText {
		s.Message = strings.ToValidUTF8(s.GetMessage()[:maxText], "") + " ... [truncated]"
	}
	return status.ErrorProto(s)
}

// Bind makes a method from a function. The function's errors should have a gRPC status. A panic answers INTERNAL.
func Bind[Q, R any, In message[Q], Out message[R]](name string, do func(ctx context.Context, in In) (Out, error)) Method {
	f := guarded(name, do)
	handler := func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		in := In(new(Q))
		if err := decode(in); err != nil {
			return nil, err
		}
		if intercept == nil {
			return f(ctx, in)
		}
		return intercept(ctx, in, &grpc.UnaryServerInfo{FullMethod: name}, func(ctx context.Context, in any) (any, error) { return f(ctx, in.(In)) })
	}
	call := func(ctx context.Context, in proto.Message) (proto.Message, error) {
		typed, ok := in.(In)
		if !ok {
			return nil, status.Errorf(codes.Internal, "%s: expected a %T, got a %T", name, typed, in)
		}
		return f(ctx, typed)
	}
	return Method{Name: name, desc: grpc.MethodDesc{MethodName: name, Handler: handler}, call: call}
}

// BindStream makes a method from a function that answers each message of a stream before it gets the next one. The first error ends the stream.
func BindStream[Q, R any, In message[Q], Out message[R]](name string, f func(ctx context.Context, in In) (Out, error)) Method {
	m := Bind(name, f)
	f = guarded(name, f)
	m.stream = func(_ any, s grpc.ServerStream) error {
		for {
			in := In(new(Q))
			if err := s.RecvMsg(in); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			out, err := f(s.Context(), in)
			if err != nil {
				return err
			}
			if err := s.SendMsg(out); err != nil {
				return err
			}
		}
	}
	return m
}

// Refuse makes a method that answers UNIMPLEMENTED with the reason.
func Refuse[Q any, In message[Q]](name, reason string) Method {
	return Bind(name, func(context.Context, In) (In, error) {
		return nil, status.Errorf(codes.Unimplemented, "%s: %s", name, reason)
	})
}

// Register adds a service with these methods to a server.
func Register(s grpc.ServiceRegistrar, name string, methods []Method) {
	d := grpc.ServiceDesc{ServiceName: name}
	for _, m := range methods {
		if m.stream != nil {
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: m.Name, Handler: m.stream, ServerStreams: true, ClientStreams: true})
			continue
		}
		d.Methods = append(d.Methods, m.desc)
	}
	s.RegisterService(&d, nil)
}

// Caller calls the methods of a service anywhere.
type Caller interface {
	// Call returns the answer. An answer from another process is decoded into out, which is then returned.
	Call(ctx context.Context, method string, in, out proto.Message) (proto.Message, error)
}

// Ask calls a method that answers with an R.
func Ask[R any, Out message[R]](ctx context.Context, c Caller, method string, in proto.Message) (Out, error) {
	out, err := c.Call(ctx, method, in, Out(new(R)))
	if err != nil {
		return nil, err
	}
	typed, ok := out.(Out)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%s: expected a %T, got a %T", method, typed, out)
	}
	return typed, nil
}

// Local is a service of this process as a Caller. Messages are not copied: neither side may change them.
type Local []Method

// Call implements Caller.
func (l Local) Call(ctx context.Context, method string, in, _ proto.Message) (proto.Message, error) {
	for _, m := range l {
		if m.Name == method {
			return m.call(ctx, in)
		}
	}
	return nil, status.Errorf(codes.Unimplemented, "%s: the service has no such method", method)
}

// Remote is a service of another process as a Caller.
type Remote struct {
	Conn    grpc.ClientConnInterface
	Service string
}

// Call implements Caller.
func (r Remote) Call(ctx context.Context, method string, in, out proto.Message) (proto.Message, error) {
	return out, r.Conn.Invoke(ctx, "/"+r.Service+"/"+method, in, out)
}
