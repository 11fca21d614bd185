package codec

import (
	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// large are the bytes of a tensor from which on it is worth not to copy it, and of a message from which on it may have such a tensor.
const large = 4 << 10

// Codec implements encoding.CodecV2. Messages without large tensors are left to gRPC's own codec.
type Codec struct{}

// plain is gRPC's own codec.
var plain = encoding.GetCodecV2(proto.Name)

// Name implements encoding.CodecV2.
func (Codec) Name() string { return proto.Name }

// Marshal implements encoding.CodecV2. The result refers to the content of v's large tensors, which must stay as it is until
// the message is sent. v is changed meanwhile, and then as it was.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if o, ok := v.(*admission.Outgoing); ok {
		return o.Data, nil
	}
	f, ok := tensorsOf(v)
	if !ok || !f.large() {
		return plain.Marshal(v)
	}
	return f.marshal()
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := tensorsOf(v)
	if !ok || data.Len() < large {
		return plain.Unmarshal(data, v)
	}
	return f.unmarshal(data)
}

// HasLarge reports whether a message has a tensor that Marshal does not copy.
func HasLarge(v any) bool {
	f, ok := tensorsOf(v)
	return ok && f.large()
}
