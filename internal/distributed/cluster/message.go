package cluster

import "io"

// Message is a received message whose body is read as it comes: straight from
// the connection where the stream has one of its own. It is valid until the next
// call of Next or Recv on its stream, which drops what was not read.
type Message struct {
	Header []byte // valid as long as the message

	left int
	from bodySource
}

// bodySource gives the bytes of a body in order.
type bodySource interface {
	// readBody reads at least one byte, and no more than len(p), which is not 0.
	readBody(p []byte) (int, error)
}

// Len returns how many bytes of the body were not read yet.
func (m *Message) Len() int { return m.left }

// Read reads the next bytes of the body into p, and returns io.EOF at its end.
// io.ReadFull fills a tensor with it. Any other error is the stream's.
func (m *Message) Read(p []byte) (int, error) {
	if m.left == 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := m.from.readBody(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// Next receives a message of a stream; io.EOF at the peer's end. It is Recv
// without a copy of the body: prefer it for large ones whose place is known.
func Next(s Stream) (*Message, error) {
	if n, ok := s.(interface{ next() (*Message, error) }); ok {
		return n.next()
	}
	f, err := s.Recv()
	if err != nil {
		return nil, err
	}
	return messageOf(f), nil
}

// messageOf makes a message of a frame, which it releases when it was read.
func messageOf(f *Frame) *Message {
	return &Message{Header: f.Header, left: f.Len(), from: &frameBody{frame: f}}
}

// frameBody reads a frame.
type frameBody struct {
	frame *Frame
	at    int
}

func (b *frameBody) readBody(p []byte) (int, error) {
	n := b.frame.CopyTo(p, b.at)
	if b.at += n; b.at == b.frame.Len() {
		b.frame.Release()
	}
	return n, nil
}
