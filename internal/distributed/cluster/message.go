package cluster

import "io"

// Message is a received message whose body is read as it arrives: straight from
// the connection if the stream has a bulk connection. It is valid until the next
// call of Next or Recv on its stream, which drops unread data.
type Message struct {
	Header []byte // valid as long as the message is

	left int
	from bodySource
}

// bodySource returns the bytes of a body in order.
type bodySource interface {
	// readBody reads at least one byte, and no more than len(p), which is not 0.
	readBody(p []byte) (int, error)
}

// Len returns the number of unread bytes of the body.
func (m *Message) Len() int { return m.left }

// Read reads the next bytes of the body into p, and returns io.EOF at its end;
// use it with io.ReadFull to fill a tensor. Any other error is the stream's.
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
// without a copy of the body: use it for large bodies whose place is known.
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

// messageOf makes a message from a frame, which it releases after it was read.
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
