package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// codecName is the content subtype of frames: "application/grpc+goestimator-frame".
const codecName = "goestimator-frame"

// prefixLen is the length of the data before the header: magic and header length.
const prefixLen = 8

// magic starts every frame; its last byte is the version of the framing.
var magic = [4]byte{'G', 'E', 'F', 1}

// ErrMalformed is the error for a message that is not a frame.
var ErrMalformed = errors.New("malformed frame")

func init() { encoding.RegisterCodecV2(codec{}) }

// codec is the encoding of frames for gRPC: it marshals *outgoing and
// unmarshals *Frame.
type codec struct{}

// Name returns the content subtype.
func (codec) Name() string { return codecName }

// Marshal returns the bytes of an outgoing frame.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	o, ok := v.(*outgoing)
	if !ok {
		return nil, fmt.Errorf("cluster: message of type %T, expected a frame", v)
	}
	return o.encode(), nil
}

// Unmarshal sets the frame that v points to; it holds a reference to data until
// it is released.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*Frame)
	if !ok {
		return fmt.Errorf("cluster: message of type %T, expected a frame", v)
	}
	return decode(data, f)
}

// prefixAndHeader returns the data before the body.
func prefixAndHeader(header []byte) []byte {
	b := make([]byte, prefixLen, prefixLen+len(header))
	copy(b, magic[:])
	binary.LittleEndian.PutUint32(b[4:], uint32(len(header)))
	return append(b, header...)
}

// decode reads a frame. Whatever lengths the message claims, it allocates no more
// than the header and one entry per chunk of data.
func decode(data mem.BufferSlice, f *Frame) error {
	total := data.Len()
	if total < prefixLen {
		return fmt.Errorf("cluster: %w: %d bytes, expected at least %d", ErrMalformed, total, prefixLen)
	}
	var prefix [prefixLen]byte
	view := Frame{Body: chunks(data)}
	view.CopyTo(prefix[:], 0)
	if [4]byte(prefix[:4]) != magic {
		return fmt.Errorf("cluster: %w: it starts with %x, expected %x: are all tasks of the same version?", ErrMalformed, prefix[:4], magic)
	}
	headerLen := int64(binary.LittleEndian.Uint32(prefix[4:]))
	if headerLen > int64(total-prefixLen) {
		return fmt.Errorf("cluster: %w: header of %d bytes in a message of %d", ErrMalformed, headerLen, total)
	}
	header := make([]byte, headerLen)
	view.CopyTo(header, prefixLen)
	*f = Frame{Header: header}
	f.setBody(view.Body, prefixLen+int(headerLen))
	data.Ref()
	f.buffers = data
	return nil
}

// setBody makes the chunks, without their first skip bytes, the body.
func (f *Frame) setBody(all [][]byte, skip int) {
	f.Body, f.ends = make([][]byte, 0, len(all)), make([]int, 0, len(all))
	end := 0
	for _, b := range all {
		n := min(skip, len(b))
		if skip -= n; n == len(b) {
			continue
		}
		end += len(b) - n
		f.Body, f.ends = append(f.Body, b[n:]), append(f.ends, end)
	}
}

func chunks(data mem.BufferSlice) [][]byte {
	out := make([][]byte, len(data))
	for i, b := range data {
		out[i] = b.ReadOnlyData()
	}
	return out
}
