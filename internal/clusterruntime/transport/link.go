package transport

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is a connection after its preface. Its two ends handle received frames differently.
type link struct {
	conn   net.Conn
	direct net.Conn      // for writing: conn, or the connection below it that can write several buffers at once
	turn   chan struct{} // has an element during a write
	bulk   chan struct{} // has an element while parts are sent; others may write between their frames
	in     *reader
	done   sync.WaitGroup // goroutines of the link

	closed chan struct{}
	once   sync.Once
	cause  error // why it was closed

	writes  atomic.Uint64 // writes begun plus writes ended: odd during a write
	ponging atomic.Bool   // a pong is being sent
	space   [2 * headerSize]byte
	vector  [maxVector][]byte
}

// maxVector is how many buffers are written at once without another allocation.
const maxVector = 8

// direct is a connection that writes data unchanged, and returns the connection below it.
type direct interface{ Direct() net.Conn }

func newLink(c net.Conn) *link {
	l := &link{conn: c, direct: c, turn: make(chan struct{}, 1), bulk: make(chan struct{}, 1), in: newReader(c), closed: make(chan struct{})}
	for {
		d, ok := l.direct.(direct)
		if !ok {
			return l
		}
		l.direct = d.Direct()
	}
}

// close closes the connection; the first cause counts.
func (l *link) close(cause error) {
	l.once.Do(func() {
		l.cause = cause
		close(l.closed)
		_ = l.conn.Close() // nobody uses it any more
	})
}

// read reads frames until one fails. handle reads the data after a frame's header; pings and pongs are headers only.
func (l *link) read(handle func(header) error) error {
	for {
		b, err := l.in.next(headerSize)
		if err != nil {
			return err
		}
		h, err := parseHeader(b)
		if err != nil {
			return err
		}
		switch h.kind {
		case ping:
			l.answerPing()
		case pong:
		default:
			err = handle(h)
		}
		if err != nil {
			return err
		}
	}
}

// acquire waits for a turn: to write, or to send parts.
func (l *link) acquire(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closed:
		return l.cause
	}
}

// write writes bytes. The caller has the turn. On failure the link is closed.
func (l *link) write(b []byte) error {
	l.writes.Add(1)
	_, err := l.direct.Write(b)
	l.writes.Add(1)
	if err != nil {
		l.close(err)
	}
	return err
}

// send writes a message. Other frames may come between its frames. If ctx ends it stops, and the peer has a part of the message.
func (l *link) send(ctx context.Context, o *outgoing) error {
	if len(o.parts) > 0 {
		return l.sendParts(ctx, o)
	}
	if err := l.acquire(ctx, l.turn); err != nil {
		return err
	}
	defer func() { <-l.turn }()
	return l.write(*o.frame)
}

// share is how many bytes of a message in parts are sent before another message gets its turn. Tensors of some megabytes then arrive
// one after the other: the first is used while it is in the processor's cache, and while the next one arrives.
const share = 4 << 20

// sendParts writes a message in parts.
func (l *link) sendParts(ctx context.Context, o *outgoing) error {
	p, first := o.pieces(), *o.frame
	for {
		if err := l.acquire(ctx, l.bulk); err != nil {
			return err
		}
		err := l.sendShare(ctx, first, p)
		<-l.bulk
		if err != nil || p.left == 0 {
			return err
		}
		first = nil
	}
}

// sendShare writes the next frames of a message, after its first frame if there is one. No other parts are sent meanwhile.
func (l *link) sendShare(ctx context.Context, first []byte, p *pieces) error {
	for end := max(p.left-share, 0); p.left > end; first = nil {
		if err := l.acquire(ctx, l.turn); err != nil {
			return err
		}
		err := ctx.Err()
		if err == nil {
			err = l.writePiece(first, p)
		}
		<-l.turn
		if err != nil {
			return err
		}
	}
	return nil
}

// writePiece writes a data frame, after another frame if there is one. The caller has the turn. On failure the link is closed.
func (l *link) writePiece(first []byte, p *pieces) error {
	all := net.Buffers(l.vector[:0])
	if first != nil {
		all = append(all, first)
	}
	all = p.next(all, l.space[:])
	l.writes.Add(1)
	_, err := all.WriteTo(l.direct)
	l.writes.Add(1)
	clear(l.vector[:])
	if err != nil {
		l.close(err)
	}
	return err
}

// sendEmpty writes a frame that is a header alone.
func (l *link) sendEmpty(k kind, call uint32) {
	if l.acquire(context.Background(), l.turn) != nil {
		return
	}
	defer func() { <-l.turn }()
	var b [headerSize]byte
	header{kind: k, call: call}.put(b[:])
	_ = l.write(b[:]) // it closes the link on failure
}

// answerPing sends a pong without blocking reads: a peer that does not read blocks at most one goroutine.
func (l *link) answerPing() {
	if l.ponging.CompareAndSwap(false, true) {
		l.done.Go(func() {
			defer l.ponging.Store(false)
			l.sendEmpty(pong, 0)
		})
	}
}

// Keepalive times in beats of 10 seconds: when a silent peer is sent a ping, when it counts as lost, and how long it may receive
// nothing of a write.
const (
	beat        = 10 * time.Second
	askAfter    = 6
	lostAfter   = 8
	stuckAfter  = 2
	noAnswer    = "the peer was silent, and did not answer a ping"
	doesNotRead = "the peer does not read"
)

// watch closes the link when the peer hangs or is gone, until the link is closed.
func (l *link) watch(every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	var came, writes uint64
	silent, stuck := 0, 0
	for {
		select {
		case <-l.closed:
			return
		case <-t.C:
		}
		silent, stuck = silent+1, stuck+1
		if now := l.in.came.Load(); now != came {
			came, silent = now, 0
		}
		if now := l.writes.Load(); now != writes || now%2 == 0 {
			writes, stuck = now, 0
		}
		switch {
		case stuck > stuckAfter:
			l.close(errors.New(doesNotRead))
		case silent > lostAfter:
			l.close(errors.New(noAnswer))
		case silent == askAfter:
			l.done.Go(func() { l.sendEmpty(ping, 0) })
		}
	}
}
