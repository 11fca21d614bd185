package transport

import (
	"encoding/binary"
	"fmt"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// maxStatus is the longest error text in bytes; the rest is cut off.
const maxStatus = 16 << 10

// requestHead is the head of a request.
type requestHead struct {
	method  string
	timeout time.Duration // 0: none
	header  metadata.MD
	sizes   []int // of parts; nil: the message follows
}

func (h *requestHead) append(b []byte) []byte {
	b = appendText(b, h.method)
	b = binary.AppendUvarint(b, uint64(h.timeout))
	return appendMetadata(b, h.header)
}

func (h *requestHead) parse(b []byte) error {
	p := parser{b: b}
	h.method = p.text()
	timeout := p.number()
	h.timeout = time.Duration(min(timeout, 1<<62))
	h.header = p.metadata()
	h.sizes = p.sizes()
	return p.end()
}

// responseHead is the head of a response.
type responseHead struct {
	status          *status.Status // nil: OK
	header, trailer metadata.MD
	sizes           []int // of parts; nil: the message follows
}

func (h *responseHead) append(b []byte) []byte {
	var text []byte
	if h.status.Code() != codes.OK {
		text = encodeStatus(h.status)
	}
	b = appendText(b, string(text))
	return appendMetadata(appendMetadata(b, h.header), h.trailer)
}

// encodeStatus encodes a status without the details that are too large for a
// head.
func encodeStatus(s *status.Status) []byte {
	p := s.Proto()
	if b, err := proto.Marshal(p); err == nil && len(b) <= maxStatus {
		return b
	}
	text := []rune(p.GetMessage())
	b, err := proto.Marshal(&statuspb.Status{Code: p.GetCode(), Message: string(text[:min(len(text), maxStatus/4)])})
	if err != nil { // not for the text, which has become valid UTF-8
		return nil
	}
	return b
}

func (h *responseHead) parse(b []byte) error {
	p := parser{b: b}
	if text := p.text(); text != "" {
		var s statuspb.Status
		if err := proto.Unmarshal([]byte(text), &s); err != nil || s.GetCode() == 0 {
			return fmt.Errorf("%w: a status that is none", errMalformed)
		}
		h.status = status.FromProto(&s)
	}
	h.header, h.trailer = p.metadata(), p.metadata()
	h.sizes = p.sizes()
	return p.end()
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendMetadata(b []byte, md metadata.MD) []byte {
	n := 0
	for _, values := range md {
		n += len(values)
	}
	b = binary.AppendUvarint(b, uint64(n))
	for key, values := range md {
		for _, v := range values {
			b = appendText(appendText(b, key), v)
		}
	}
	return b
}

// appendSizes ends a head.
func appendSizes(b []byte, sizes []int) []byte {
	b = binary.AppendUvarint(b, uint64(len(sizes)))
	for _, n := range sizes {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// parser reads a head. After the first error it reads nothing.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) number() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.bad, p.b = true, nil
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) text() string {
	n := p.number()
	if n > uint64(len(p.b)) {
		p.bad, p.b = true, nil
		return ""
	}
	s := string(p.b[:n])
	p.b = p.b[n:]
	return s
}

func (p *parser) metadata() metadata.MD {
	n := p.number()
	if n == 0 || n > uint64(len(p.b)) {
		p.bad = p.bad || n > 0
		return nil
	}
	md := metadata.MD{}
	for range n {
		if p.bad {
			return nil
		}
		key := p.text()
		md.Append(key, p.text())
	}
	return md
}

// sizes reads the sizes of the parts of a message.
func (p *parser) sizes() []int {
	n := p.number()
	if n == 0 {
		return nil
	}
	if n > maxParts {
		p.bad = true
		return nil
	}
	all, total := make([]int, n), uint64(0)
	for i := range all {
		size := p.number()
		if total += size; size == 0 || size > maxMessage || total > maxMessage {
			p.bad = true
			return nil
		}
		all[i] = int(size)
	}
	return all
}

func (p *parser) end() error {
	if p.bad || len(p.b) > 0 {
		return fmt.Errorf("%w: its head cannot be read", errMalformed)
	}
	return nil
}
