package cluster

import (
	"context"
	"testing"
	"time"
)

// TestSendOfAWindowDoesNotWaitForTheReceiver: two tasks that both send first
// and then receive rely on it.
func TestSendOfAWindowDoesNotWaitForTheReceiver(t *testing.T) {
	release := make(chan struct{})
	from, _ := sockets(t, nil, Service{Name: "test.Late", Streams: map[string]StreamHandler{"Late": func(_ context.Context, s Stream) error {
		<-release
		f, err := s.Recv()
		if err != nil {
			return err
		}
		defer f.Release()
		return s.Send(&Frame{Header: []byte("received")})
	}}})
	s, err := from.Stream(testContext(t), ps0, "/test.Late/Late")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&Frame{Body: [][]byte{make([]byte, Window-100)}}); err != nil {
		t.Fatal(err)
	}
	close(release) // not before Send has returned
	if f, err := s.Recv(); err != nil || string(f.Header) != "received" {
		t.Errorf("got %v, %v", f, err)
	}
	s.CloseSend()
	if _, err := s.Recv(); err == nil {
		t.Error("the stream goes on")
	}
}

func TestPingTimeout(t *testing.T) {
	for peer, want := range map[time.Duration]time.Duration{30 * time.Second: 15 * time.Second, time.Second: minPing, time.Minute: 45 * time.Second} {
		if got := (Config{PeerTimeout: peer}).pingTimeout(); got != want || got+pingAfter > max(peer, 12*time.Second) {
			t.Errorf("%v: got %v, want %v", peer, got, want)
		}
	}
}
