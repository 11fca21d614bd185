package cluster

import (
	"context"
	"sync/atomic"
	"testing"
)

// sendUntil sends a large frame repeatedly until the stream ends, and changes
// it in between, as the contract allows.
func sendUntil(s ClientStream, started chan<- struct{}) {
	body := make([]byte, 1<<20)
	for i := 0; ; i++ {
		for j := range body {
			body[j] = byte(i)
		}
		if err := s.Send(&Frame{Body: [][]byte{body}}); err != nil {
			return
		}
		if i == 0 {
			close(started)
		}
	}
}

// TestChunksMayBeChangedAfterSend is for the race detector. It also checks that no frame arrives that was changed while it was sent, if a stream
// is cancelled.
func TestChunksMayBeChangedAfterSend(t *testing.T) {
	var torn atomic.Int32
	from, _ := sockets(t, nil, Service{Name: "test.Sink", Streams: map[string]StreamHandler{"Sink": func(_ context.Context, s Stream) error {
		for {
			f, err := s.Recv()
			if err != nil {
				return err
			}
			for _, b := range f.Body {
				if b[0] != f.Body[0][0] || b[len(b)-1] != f.Body[0][0] {
					torn.Add(1)
				}
			}
			f.Release()
		}
	}}})
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := from.Stream(ctx, ps0, "/test.Sink/Sink")
		if err != nil {
			t.Fatal(err)
		}
		started, ended := make(chan struct{}), make(chan struct{})
		go func() { sendUntil(s, started); close(ended) }()
		<-started
		cancel()
		<-ended
	}
	if n := torn.Load(); n > 0 {
		t.Errorf("%d chunks were changed on their way", n)
	}
}

// TestSendEndsWithTheConnection: gRPC does not report that it is done with a
// frame whose connection broke.
func TestSendEndsWithTheConnection(t *testing.T) {
	caller, server, faults := local(t)
	for _, disturb := range []func(){func() { faults.Cut(worker0, ps0) }, func() { server.Close() }} {
		faults.Heal(worker0, ps0)
		s, err := caller.Stream(testContext(t), ps0, "/test.Echo/Stream")
		if err != nil {
			t.Fatal(err)
		}
		started, ended := make(chan struct{}), make(chan struct{})
		go func() { sendUntil(s, started); close(ended) }()
		go func() {
			for {
				if _, err := s.Recv(); err != nil {
					return
				}
			}
		}()
		<-started
		disturb()
		<-ended
	}
}

func TestDoneIsCalledOnce(t *testing.T) {
	var done atomic.Int32
	large := make([]byte, 1<<20)
	service := Service{Name: "test.Pull", Unary: map[string]Handler{"Pull": func(context.Context, *Frame) (*Frame, error) {
		return &Frame{Body: [][]byte{large}, Done: func() { done.Add(1) }}, nil
	}}}
	from, to := sockets(t, nil, service)
	for range 3 {
		f, err := from.Call(testContext(t), ps0, "/test.Pull/Pull", &Frame{})
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	to.Close() // lets the handlers finish
	if n := done.Load(); n != 3 {
		t.Errorf("Done was called %d times for 3 answers", n)
	}
}
