package cluster

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const (
	// copyBelow is the length below which a chunk is copied, which is cheaper than
	// waiting for the transport. (gRPC does not report when it is done with buffers
	// of up to 1 KiB.)
	copyBelow = 16 << 10
	// sendGrace bounds how long a frame may block its sender after its stream has ended.
	sendGrace = time.Second
)

// outgoing is a frame being sent. gRPC uses the chunks themselves and counts
// references to them. The frame was sent when the last reference is gone: then its
// bytes are in the connection's write buffer.
type outgoing struct {
	frame   *Frame
	pending atomic.Int32
	done    chan struct{} // nil until there is something to wait for
}

// errTooLong is the error for a message that is too long.
func errTooLong(n, limit int) error {
	return status.Errorf(codes.ResourceExhausted, "a message of %d bytes exceeds the limit of %d: send it in parts, or raise rpc.max_message_mb for all tasks", n, limit)
}

// newOutgoing returns f as a message, or an error if it exceeds the limit.
func newOutgoing(f *Frame, limit int) (*outgoing, error) {
	if n := len(f.Header) + f.Len(); n > limit {
		return nil, errTooLong(n, limit)
	}
	return &outgoing{frame: f}, nil
}

func (o *outgoing) encode() mem.BufferSlice {
	out := mem.BufferSlice{mem.SliceBuffer(prefixAndHeader(o.frame.Header))}
	waiting := 0
	for i, b := range o.frame.Body {
		switch {
		case len(b) >= copyBelow:
			waiting++
			out = append(out, mem.NewBuffer(&o.frame.Body[i], o))
		case len(b) > 0:
			out = append(out, mem.Copy(b, mem.DefaultBufferPool()))
		}
	}
	if waiting > 0 {
		o.pending.Store(int32(waiting))
		o.done = make(chan struct{})
	}
	return out
}

// Get implements mem.BufferPool. It is not used: only Put matters.
func (o *outgoing) Get(n int) *[]byte { return mem.DefaultBufferPool().Get(n) }

// Put is called when gRPC has dropped its last reference to a chunk.
func (o *outgoing) Put(*[]byte) {
	if o.pending.Add(-1) == 0 {
		close(o.done)
	}
}

// wait returns when the transport no longer reads the chunks. Once the stream is
// over, that is soon: queued frames are dropped. But gRPC does not drop its
// references if the connection broke, or if the frame was queued after the end of the
// stream; and its writer may be stuck in a write before a part of the frame. In that
// last case the connection is closed after a while, so that the peer cannot see
// chunks that were changed meanwhile.
func (o *outgoing) wait(over <-chan struct{}, conn *watchedConn) {
	if o.done == nil {
		return
	}
	select {
	case <-o.done:
		return
	case <-over:
	}
	const step = 10 * time.Millisecond
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for dead, waited := 0, time.Duration(0); waited < sendGrace; waited += step {
		select {
		case <-o.done:
			return
		case <-ticker.C:
		}
		if conn != nil && conn.isClosed() {
			if dead++; dead == 3 { // a writer between two writes has finished
				return
			}
		}
	}
	if conn != nil && conn.stuck(sendGrace/2) {
		conn.Close()
	}
}
