package transport

import (
	"net"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// pool has buffers for messages in one frame, frames has buffers for first frames.
var (
	pool   = mem.DefaultBufferPool()
	frames = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}
)

// outgoing is a message with its head, encoded.
type outgoing struct {
	kind  kind
	call  uint32
	frame *[]byte         // the first frame
	parts mem.BufferSlice // the following data
}

// encode encodes a message with a head. The result refers to the content of its large tensors.
func encode(k kind, call uint32, head interface{ append([]byte) []byte }, m any) (*outgoing, error) {
	typed, ok := m.(proto.Message)
	if !ok && m != nil {
		return nil, status.Errorf(codes.Internal, "expected a message of Protocol Buffers, got a %T", m)
	}
	o := &outgoing{kind: k, call: call, frame: frames.Get().(*[]byte)}
	b := head.append(append((*o.frame)[:0], make([]byte, headerSize)...))
	if len(b) > headerSize+maxHead/2 {
		o.free()
		return nil, status.Errorf(codes.ResourceExhausted, "the header of the call has %d bytes: at most %d are possible", len(b)-headerSize, maxHead/2)
	}
	h := header{kind: k, call: call}
	if size := wholeSize(typed); size <= maxWhole {
		b = appendSizes(b, nil)
		h.head = uint32(len(b) - headerSize)
		var err error
		if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, typed); err != nil {
			o.free()
			return nil, status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
		}
	} else {
		parts, err := codec.Codec{}.Marshal(m)
		if err == nil && parts.Len() > maxMessage {
			err = status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", parts.Len(), maxMessage)
		}
		if err != nil {
			o.free()
			return nil, status.Convert(err).Err()
		}
		o.parts = parts
		b = appendSizes(b, sizesOf(parts))
		h.head = uint32(len(b) - headerSize)
	}
	h.length = uint32(len(b) - headerSize)
	h.put(b)
	*o.frame = b
	return o, nil
}

// wholeSize is the size of a message that fits into one frame, and a larger number for others.
func wholeSize(m proto.Message) int {
	switch {
	case m == nil:
		return 0
	case codec.HasLarge(m):
		return maxWhole + 1
	}
	return proto.Size(m)
}

// sizesOf returns the sizes of the parts. If there are very many, they count as one.
func sizesOf(parts mem.BufferSlice) []int {
	var all []int
	for _, b := range parts {
		if b.Len() > 0 {
			all = append(all, b.Len())
		}
	}
	if len(all) > maxParts {
		return []int{parts.Len()}
	}
	return all
}

// free returns the buffers.
func (o *outgoing) free() {
	frames.Put(o.frame)
	o.parts.Free()
}

// pieces cuts the parts of a message into frames of data.
type pieces struct {
	call  uint32
	parts [][]byte
	left  int
}

func (o *outgoing) pieces() *pieces {
	p := &pieces{call: o.call}
	for _, b := range o.parts {
		p.parts = append(p.parts, b.ReadOnlyData())
		p.left += b.Len()
	}
	return p
}

// next appends the next frame to the buffers of a write. The header is put into space.
func (p *pieces) next(to net.Buffers, space []byte) net.Buffers {
	n := min(p.left, maxData)
	header{kind: data, call: p.call, length: uint32(n)}.put(space)
	to = append(to, space[:headerSize])
	p.left -= n
	for n > 0 {
		k := min(n, len(p.parts[0]))
		if k > 0 {
			to = append(to, p.parts[0][:k])
		}
		n -= k
		if p.parts[0] = p.parts[0][k:]; len(p.parts[0]) == 0 {
			p.parts = p.parts[1:]
		}
	}
	return to
}
