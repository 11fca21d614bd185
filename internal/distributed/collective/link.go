package collective

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// outlet is the link to one peer: messages go one way, the end of the peer's handler
// comes back.
type outlet struct {
	peer   cluster.Task
	stream cluster.ClientStream

	mu     sync.Mutex // held while sending
	frame  cluster.Frame
	header wire.GroupHeader // used by the sender of data
	body   [][]byte         // likewise
	index  uint64           // of the next message of this call
}

// notice is a header with its text, which may be nil.
type notice struct {
	header *wire.GroupHeader
	text   *wire.GroupText
}

// send sends one message of bytes.
func (o *outlet) send(n notice, body [][]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(n, body)
}

// write is send with the lock held.
func (o *outlet) write(n notice, body [][]byte) error {
	o.frame.Header = encodeHeader(o.frame.Header[:0], n.header, n.text)
	o.frame.Body = body
	return o.stream.Send(&o.frame)
}

// part tells the peer why the group is dead, unless a message blocks the link, and that
// no more follows.
func (o *outlet) part(n *notice) {
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	if n != nil {
		_ = o.write(*n, nil) // the peer would also notice otherwise, but later
	}
	_ = o.stream.CloseSend()
}

// end waits until the peer's handler returns, and returns the reason: nil if the peer
// closed its group in good order.
func (o *outlet) end() error {
	for {
		f, err := o.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return peerError(o.peer, err)
		}
		f.Release()
	}
}

// peerError is the error of a stream with a peer.
func peerError(peer cluster.Task, err error) error {
	s := status.Convert(err)
	var at *cluster.PeerError
	if errors.As(err, &at) {
		s = status.Convert(at.Err) // without the text around it
	}
	switch s.Code() {
	case codes.Aborted:
		return fmt.Errorf("%v gave up: %s", peer, s.Message())
	case codes.FailedPrecondition:
		return fmt.Errorf("%v: %w: %s", peer, ErrMismatch, s.Message())
	}
	return fmt.Errorf("lost %v: %w", peer, err)
}

// inlet is the link from one peer.
type inlet struct {
	peer   cluster.Task
	rank   int
	stream cluster.Stream
	header wire.GroupHeader // of the last received message
	index  uint64           // of the next message of this call
}

// receive returns the next message, which is valid until the next call, as is i.header.
func (i *inlet) receive() (*cluster.Message, error) {
	m, err := cluster.Next(i.stream)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("lost %v: it has left the group", i.peer)
	}
	if err != nil {
		return nil, peerError(i.peer, err)
	}
	if err := decodeHeader(m.Header, &i.header); err != nil {
		return nil, fmt.Errorf("%v: %w", i.peer, err)
	}
	if i.header.Kind != farewell {
		return m, nil
	}
	why := textOf(m.Header)
	if why.Mismatch {
		return nil, fmt.Errorf("%v: %w: %s", i.peer, ErrMismatch, why.Text)
	}
	return nil, fmt.Errorf("%v gave up: %s", i.peer, why.Text)
}
