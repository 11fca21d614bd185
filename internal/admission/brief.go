package admission

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Brief registers services that strangers may call, such as that of the health: a message to them has at most Limit
// bytes, also decompressed, and a call one message. gRPC's own limit is of all services of a server.
type Brief struct {
	grpc.ServiceRegistrar
	Limit int
}

// RegisterService implements grpc.ServiceRegistrar.
func (b Brief) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods, d.Streams = nil, nil
	for _, m := range desc.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, _ func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
			return handle(srv, ctx, func(m any) error { return b.receive(ctx, m) }, wrap)
		}
		d.Methods = append(d.Methods, m)
	}
	for _, s := range desc.Streams {
		handle := s.Handler
		s.Handler = func(srv any, stream grpc.ServerStream) error { return handle(srv, briefStream{stream, b}) }
		d.Streams = append(d.Streams, s)
	}
	b.ServiceRegistrar.RegisterService(&d, impl)
}

// briefStream is a stream that receives short messages.
type briefStream struct {
	grpc.ServerStream
	Brief
}

// RecvMsg implements grpc.ServerStream.
func (s briefStream) RecvMsg(m any) error { return s.receive(s.Context(), m) }

// incoming is what gRPC's transport has of a call's messages.
type incoming interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receive reads a message as gRPC does, but for the limit.
func (b Brief) receive(ctx context.Context, m any) error {
	from, ok := grpc.ServerTransportStreamFromContext(ctx).(incoming)
	into, isMessage := m.(proto.Message)
	if !ok || !isMessage {
		return status.Error(codes.Internal, "the transport does not tell the size of a message")
	}
	header := make([]byte, 5) // whether it is compressed, and its size
	if err := from.ReadMessageHeader(header); err != nil {
		return receiving(err)
	}
	size := uint32(header[1])<<24 | uint32(header[2])<<16 | uint32(header[3])<<8 | uint32(header[4])
	if int64(size) > int64(b.Limit) {
		return b.tooLarge()
	}
	data, err := from.Read(int(size))
	if err != nil {
		return receiving(err)
	}
	defer data.Free()
	r := io.Reader(data.Reader())
	if header[0] != 0 {
		if r, err = decompressed(from.RecvCompress(), r); err != nil {
			return err
		}
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(b.Limit)+1))
	if err != nil {
		return status.Errorf(codes.Internal, "the message cannot be decompressed: %v", err)
	}
	if len(text) > b.Limit {
		return b.tooLarge()
	}
	if err := proto.Unmarshal(text, into); err != nil {
		return status.Errorf(codes.Internal, "the message cannot be read: %v", err)
	}
	return nil
}

func decompressed(how string, r io.Reader) (io.Reader, error) {
	c := encoding.GetCompressor(how)
	if c == nil {
		return nil, status.Errorf(codes.Internal, "a compressed message with grpc-encoding %q", how)
	}
	r, err := c.Decompress(r)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "the message cannot be decompressed: %v", err)
	}
	return r, nil
}

func (b Brief) tooLarge() error {
	return status.Errorf(codes.ResourceExhausted, "the message is larger than %d bytes", b.Limit)
}

// receiving is an error of the transport as the status of a call.
func receiving(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.Internal, "the call has no whole message")
	}
	return err // a status already
}
