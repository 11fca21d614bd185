package admission

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	ordinary "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Limited registers services that unauthenticated callers may use, such as health, or whose messages are small; gRPC's own
// limits apply to all services of a server. A reply must be received within a minute.
type Limited struct {
	grpc.ServiceRegistrar
	Limit    int             // bytes of a message, also decompressed
	Timeout  time.Duration   // for a message to arrive; 0: unlimited
	Ending   context.Context // ends when a server that shuts down stops waiting for messages; nil: never
	MaxCalls int             // calls of a connection that run, or whose reply waits, at the same time; 0: any number. Once all connections together have 16384, each may have only one
}

// smallDeparture is the time in which replies of a Limited must be received.
const smallDeparture = time.Minute

// RegisterService implements grpc.ServiceRegistrar.
func (b Limited) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods, d.Streams = nil, nil
	now := &perConnection{limit: int64(b.MaxCalls), most: mostLimited}
	for _, m := range desc.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, _ func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
			end, err := now.begin(ctx)
			if err != nil {
				return nil, err
			}
			replies := false
			defer func() {
				if !replies {
					end()
				}
			}()
			reply, err := handle(srv, ctx, func(m any) error { return requireMessage(b.receive(ctx, m)) }, wrap)
			if err != nil {
				return nil, err
			}
			reply, err = Departure{smallDeparture, end}.Message(ctx, reply, encoding.GetCodecV2(ordinary.Name))
			replies = err == nil
			return reply, err
		}
		d.Methods = append(d.Methods, m)
	}
	for _, s := range desc.Streams {
		handle, several := s.Handler, s.ClientStreams
		s.Handler = func(srv any, stream grpc.ServerStream) error {
			end, err := now.begin(stream.Context())
			if err != nil {
				return err
			}
			defer end()
			return handle(srv, limitedStream{stream, b, several})
		}
		d.Streams = append(d.Streams, s)
	}
	b.ServiceRegistrar.RegisterService(&d, impl)
}

// limitedStream is a stream that receives short messages.
type limitedStream struct {
	grpc.ServerStream
	Limited
	several bool // several messages, up to io.EOF
}

// RecvMsg implements grpc.ServerStream.
func (s limitedStream) RecvMsg(m any) error {
	err := s.receive(s.Context(), m)
	if s.several {
		return err
	}
	return requireMessage(err)
}

// SendMsg implements grpc.ServerStream.
func (s limitedStream) SendMsg(m any) error {
	m, err := Departure{Within: smallDeparture}.Message(s.Context(), m, encoding.GetCodecV2(ordinary.Name))
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// requireMessage is the error of receiving a message that must exist.
func requireMessage(err error) error {
	if err == io.EOF {
		return noMessage
	}
	return err
}

var noMessage = status.Error(codes.Internal, "the call has no whole message")

// incoming is the part of gRPC's transport that reads a call's messages.
type incoming interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receive reads a message as gRPC does, but with the limits. io.EOF means that there is none.
func (b Limited) receive(ctx context.Context, m any) error {
	from, ok := grpc.ServerTransportStreamFromContext(ctx).(incoming)
	into, isMessage := m.(proto.Message)
	if !ok || !isMessage {
		return status.Error(codes.Internal, "the transport does not tell the size of a message")
	}
	wait := StartWait(ctx, b.Timeout, b.Ending)
	return wait.Done(b.read(from, into))
}

func (b Limited) read(from incoming, into proto.Message) error {
	header := make([]byte, 5) // a compression flag, and the size
	if err := from.ReadMessageHeader(header); err != nil {
		return transportError(err)
	}
	size := uint32(header[1])<<24 | uint32(header[2])<<16 | uint32(header[3])<<8 | uint32(header[4])
	if int64(size) > int64(b.Limit) {
		return b.tooLarge()
	}
	data, err := from.Read(int(size))
	if err != nil {
		return requireMessage(transportError(err))
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

func (b Limited) tooLarge() error {
	return status.Errorf(codes.ResourceExhausted, "the message is larger than %d bytes", b.Limit)
}

// transportError turns an error of the transport into the status of a call; io.EOF stays.
func transportError(err error) error {
	if err == io.ErrUnexpectedEOF {
		return noMessage
	}
	return err // already a status
}
