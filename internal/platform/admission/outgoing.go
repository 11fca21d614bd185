package admission

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	ordinary "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Outgoing is a message that is marshalled already. Codecs send its Data as they are.
type Outgoing struct{ Data mem.BufferSlice }

// outgoingCodec is gRPC's ordinary codec, but for an Outgoing.
type outgoingCodec struct{ encoding.CodecV2 }

func init() { encoding.RegisterCodecV2(outgoingCodec{encoding.GetCodecV2(ordinary.Name)}) }

// Marshal implements encoding.CodecV2.
func (c outgoingCodec) Marshal(v any) (mem.BufferSlice, error) {
	if o, ok := v.(*Outgoing); ok {
		return o.Data, nil
	}
	return c.CodecV2.Marshal(v)
}

// Message returns what the call of ctx is to send in place of a message: an Outgoing by gRPC; by another transport, which has limits of its
// own, the message, which counts as gone.
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
