package cluster

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMessageLimit(t *testing.T) {
	from, _ := sockets(t, func(c *Config) {
		if c.MaxMessageBytes = 1 << 20; c.Task == worker0 {
			c.MaxMessageBytes = 4 << 20
		}
	}, echo())
	ctx := testContext(t)
	if f, err := from.Call(ctx, ps0, "/test.Echo/Echo", &Frame{Header: make([]byte, 1000), Body: [][]byte{make([]byte, 1<<20-1000)}}); err != nil {
		t.Errorf("as much as is allowed: got %v", err)
	} else {
		f.Release()
	}
	for name, n := range map[string]int{"more than the peer takes": 1<<20 + 1, "more than this task sends": 4<<20 + 1} {
		_, err := from.Call(ctx, ps0, "/test.Echo/Echo", &Frame{Body: [][]byte{make([]byte, n)}})
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "rpc.max_message_mb") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s, err := from.Stream(ctx, ps0, "/test.Echo/Stream")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&Frame{Body: [][]byte{make([]byte, 5<<20)}}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a stream: got %v", err)
	}
	if err := s.Send(&Frame{}); err != nil {
		t.Errorf("after a frame that was too large: %v", err)
	}
	s.CloseSend()
	for err == nil {
		_, err = s.Recv()
	}
}
