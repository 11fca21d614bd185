package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// preface begins a connection. Its first byte is that of HTTP/2's preface, by which a parameter server of this project's jobs finds
// the connections for its TensorFlow services.
const preface = "PGOEST1\n"

// kind says what a frame is.
type kind byte

const (
	request kind = 1 + iota
	response
	data
	cancel
	ping
	pong
)

const (
	headerSize = 16
	// maxHead are the bytes of the head of a frame.
	maxHead = 32 << 10
	// maxWhole are the bytes of a message that comes in one frame with its head.
	maxWhole = 32 << 10
	// maxData are the bytes of a frame of data.
	maxData = 256 << 10
	// maxMessage are the bytes of a message: Protocol Buffers cannot be larger.
	maxMessage = 1<<31 - 1
	// maxParts are the parts of a message.
	maxParts = 1 << 10
)

// errMalformed says that a peer sent what is no frame.
var errMalformed = errors.New("malformed frame")

// header is that of a frame.
type header struct {
	kind   kind
	call   uint32
	length uint32 // of what follows
	head   uint32 // how many bytes of that are the head
}

// put writes the header to the first bytes of b.
func (h header) put(b []byte) {
	binary.LittleEndian.PutUint32(b, uint32(h.kind))
	binary.LittleEndian.PutUint32(b[4:], h.call)
	binary.LittleEndian.PutUint32(b[8:], h.length)
	binary.LittleEndian.PutUint32(b[12:], h.head)
}

// parseHeader reads a header, whose lengths are possible.
func parseHeader(b []byte) (header, error) {
	first := binary.LittleEndian.Uint32(b)
	h := header{kind(first), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}
	most := uint32(0)
	switch h.kind {
	case request, response:
		most = maxHead + maxWhole
	case data:
		most = maxData
	case cancel, ping, pong:
	default:
		return h, fmt.Errorf("%w: of kind %d", errMalformed, first)
	}
	if first > 0xff || h.length > most || h.head > min(h.length, maxHead) || h.kind == data && (h.head > 0 || h.length == 0) {
		return h, fmt.Errorf("%w: kind %#x, %d bytes, a head of %d", errMalformed, first, h.length, h.head)
	}
	return h, nil
}
