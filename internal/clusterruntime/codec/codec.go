package codec

import (
	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// large is the size in bytes from which on a tensor is not copied, and a message may have such a tensor.
const large = 4 << 10

// Codec implements encoding.CodecV2. Messages without large tensors are left to gRPC's own codec.
type Codec struct{}

// plain is gRPC's own codec.
var plain = encoding.GetCodecV2(proto.Name)

// Name implements encoding.CodecV2.
func (Codec) Name() string { return proto.Name }

// Marshal implements encoding.CodecV2. The result refers to the content of v's large tensors, which must not change until the message
// is sent. Marshal changes v temporarily.
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
