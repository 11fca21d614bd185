package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// preface begins a connection. Its first byte is the same as in HTTP/2's preface, by which a parameter server of this project's
// jobs recognizes the connections for its TensorFlow services.
const preface = "PGOEST1\n"

// kind is the kind of a frame.
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
	// maxHead is the largest head of a frame in bytes.
	maxHead = 32 << 10
	// maxWhole is the largest message in bytes that is sent in one frame with its head.
	maxWhole = 32 << 10
	// maxData is the largest data frame in bytes.
	maxData = 256 << 10
	// maxMessage is the largest message in bytes: Protocol Buffers cannot be larger.
	maxMessage = 1<<31 - 1
	// maxParts is the most parts of a message.
	maxParts = 1 << 10
)

// errMalformed reports that a peer sent an invalid frame.
var errMalformed = errors.New("malformed frame")

// header is the header of a frame.
type header struct {
	kind   kind
	call   uint32
	length uint32 // of the following data
	head   uint32 // bytes of that which are the head
}

// put writes the header to the first bytes of b.
func (h header) put(b []byte) {
	binary.LittleEndian.PutUint32(b, uint32(h.kind))
	binary.LittleEndian.PutUint32(b[4:], h.call)
	binary.LittleEndian.PutUint32(b[8:], h.length)
	binary.LittleEndian.PutUint32(b[12:], h.head)
}

// parseHeader reads a header and checks its lengths.
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
