package cluster

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// eachWay tests streams with and without bulk connections.
func eachWay(t *testing.T, test func(t *testing.T, caller *Node)) {
	for name, noBulk := range map[string]bool{"bulk": false, "grpc": true} {
		t.Run(name, func(t *testing.T) {
			caller, _, _ := local(t)
			caller.config.noBulk = noBulk
			test(t, caller)
		})
	}
}

func TestStreamEchoes(t *testing.T) { eachWay(t, testStreamEchoes) }

func testStreamEchoes(t *testing.T, caller *Node) {
	s, err := caller.Stream(testContext(t), ps0, "/test.Echo/Stream")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		body := make([]byte, 100000)
		var err error
		for i := range 20 {
			body[99999] = byte(i)
			err = errors.Join(err, s.Send(&Frame{Body: [][]byte{body}}))
			clear(body) // the frame was sent already
		}
		sent <- errors.Join(err, s.CloseSend())
	}()
	for i := range 20 {
		f, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		last := make([]byte, 1)
		if f.CopyTo(last, 99999) != 1 || last[0] != byte(i) {
			t.Errorf("frame %d ends with %d", i, last[0])
		}
		f.Release()
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := s.Recv(); err != io.EOF {
			t.Errorf("at the end: got %v", err)
		}
	}
}

func TestStreamErrors(t *testing.T) { eachWay(t, testStreamErrors) }

func testStreamErrors(t *testing.T, caller *Node) {
	ctx := testContext(t)
	s, err := caller.Stream(ctx, ps0, "/test.Echo/TwoThenFail")
	if err != nil {
		t.Fatal(err)
	}
	for status.Code(err) != codes.Aborted { // until the end of the stream has arrived
		if err = s.Send(&Frame{}); err != nil && status.Code(err) != codes.Aborted {
			t.Fatalf("sending to a stream that is over: got %v", err)
		}
	}
	for range 2 { // frames received before that are not lost
		if f, err := s.Recv(); err != nil || string(f.Header) != "x" {
			t.Fatalf("got %v, %v", f, err)
		}
	}
	if _, err := s.Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("got %v", err)
	}
	for method, want := range map[string]codes.Code{"/test.Echo/PanicStream": codes.Internal, "/test.Echo/Nothing": codes.Unimplemented} {
		s, err := caller.Stream(ctx, ps0, method)
		if err == nil {
			_, err = s.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

func TestStreamEndsWithItsContext(t *testing.T) { eachWay(t, testStreamEndsWithItsContext) }

func testStreamEndsWithItsContext(t *testing.T, caller *Node) {
	for _, cause := range []error{nil, errors.New("signal: terminated")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s, err := caller.Stream(ctx, ps0, "/test.Echo/Stream")
		if err != nil {
			t.Fatal(err)
		}
		cancel(cause)
		if _, err := s.Recv(); !errors.Is(err, context.Canceled) || errors.Is(err, ErrPeerLost) {
			t.Errorf("ended for %v: got %v", cause, err)
		}
	}
}
