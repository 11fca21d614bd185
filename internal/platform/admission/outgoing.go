package admission

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	ordinary "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Outgoing is a message that is already marshalled. Codecs send its Data unchanged.
type Outgoing struct{ Data mem.BufferSlice }

// outgoingCodec is gRPC's ordinary codec that also accepts an Outgoing.
type outgoingCodec struct{ encoding.CodecV2 }

func init() { encoding.RegisterCodecV2(outgoingCodec{encoding.GetCodecV2(ordinary.Name)}) }

// Marshal implements encoding.CodecV2.
func (c outgoingCodec) Marshal(v any) (mem.BufferSlice, error) {
	if o, ok := v.(*Outgoing); ok {
		return o.Data, nil
	}
	return c.CodecV2.Marshal(v)
}

// Message returns what the call of ctx sends in place of a message: an Outgoing on gRPC's transport. Other transports have limits of their
// own, so they get the message itself, which counts as gone.
func (d Departure) Message(ctx context.Context, m any, codec encoding.CodecV2) (any, error) {
	_, isMessage := m.(proto.Message)
	if _, ok := grpc.ServerTransportStreamFromContext(ctx).(incoming); !ok || !isMessage {
		if d.Gone != nil {
			d.Gone()
		}
		return m, nil
	}
	data, err := codec.Marshal(m)
	if err != nil {
		return nil, err
	}
	return &Outgoing{d.Send(ctx, data)}, nil
}
