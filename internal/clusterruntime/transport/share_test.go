package transport

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc/mem"
)

// TestMessagesTakeTurns: a message in parts is sent in shares, which parts of other messages do not interrupt.
func TestMessagesTakeTurns(t *testing.T) {
	const size = 2*share + share/2
	here, there := net.Pipe()
	l := newLink(here)
	defer l.close(io.EOF)
	var senders sync.WaitGroup
	for call := range uint32(3) {
		frame := make([]byte, headerSize)
		header{kind: response, call: call}.put(frame)
		o := &outgoing{kind: response, call: call, frame: &frame, parts: mem.BufferSlice{mem.SliceBuffer(make([]byte, size))}}
		senders.Go(func() {
			if err := l.send(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
	}
	got := map[uint32]int{}
	in, last := newReader(there), uint32(0)
	for whole := 0; whole < 3; {
		b, err := in.next(headerSize)
		if err != nil {
			t.Fatal(err)
		}
		h, err := parseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		if before := got[last]; h.call != last && before%share != 0 && before != size {
			t.Errorf("message %d comes after %d bytes of message %d: expected a share of %d, or the whole message", h.call, before, last, share)
		}
		if err := in.discard(int(h.length)); err != nil {
			t.Fatal(err)
		}
		last = h.call
		if got[last] += int(h.length); got[last] == size {
			whole++
		}
	}
	senders.Wait()
}

// TestShareEndsWithContext: a message that is cancelled while it waits for another one leaves the connection usable.
func TestShareEndsWithContext(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	l := newLink(here)
	defer l.close(io.EOF)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	frame := make([]byte, headerSize)
	o := &outgoing{frame: &frame, parts: mem.BufferSlice{mem.SliceBuffer(make([]byte, share))}}
	l.bulk <- struct{}{} // another message is being sent
	if err := l.send(ctx, o); err != context.Canceled {
		t.Errorf("expected the end of the context, got %v", err)
	}
	<-l.bulk
	if err := l.send(ctx, o); err != context.Canceled {
		t.Errorf("expected the end of the context, got %v", err)
	}
	if len(l.bulk)+len(l.turn) != 0 {
		t.Error("a message that was given up keeps its turn")
	}
}
