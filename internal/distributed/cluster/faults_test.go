package cluster

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestCutAndHeal(t *testing.T) {
	caller, server, faults := local(t)
	ctx := testContext(t)
	s, err := caller.Stream(ctx, ps0, "/test.Echo/Stream")
	if err != nil {
		t.Fatal(err)
	}
	hung := make(chan error, 1)
	go func() {
		_, err := caller.Call(ctx, ps0, "/test.Echo/Hang", &Frame{})
		hung <- err
	}()
	if err := caller.Healthy(ctx, ps0); err != nil {
		t.Fatal(err)
	}
	faults.Cut(ps0, worker0)
	if _, err := s.Recv(); !errors.Is(err, ErrPeerLost) {
		t.Errorf("the stream: got %v", err)
	}
	if err := s.Send(&Frame{}); !errors.Is(err, ErrPeerLost) {
		t.Errorf("sending on: got %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := caller.Call(short, ps0, "/test.Echo/Echo", &Frame{}); !errors.Is(err, ErrPeerLost) {
		t.Errorf("a call while cut: got %v", err)
	}
	faults.Heal(worker0, ps0)
	if _, err := caller.Call(ctx, ps0, "/test.Echo/Echo", &Frame{}); err != nil {
		t.Errorf("after Heal: %v", err)
	}
	server.Close()
	if err := <-hung; !errors.Is(err, ErrPeerLost) {
		t.Errorf("the call that hung when the connection was cut: got %v", err)
	}
}

func TestDropIsNoticedAtTheDeadline(t *testing.T) {
	caller, _, faults := local(t)
	if err := caller.Healthy(testContext(t), ps0); err != nil {
		t.Fatal(err)
	}
	faults.Drop(worker0, ps0)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	body := make([]byte, 8<<20) // more than fits into all buffers
	if _, err := caller.Call(ctx, ps0, "/test.Echo/Echo", &Frame{Body: [][]byte{body}}); !errors.Is(err, ErrPeerLost) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	clear(body) // the race detector reports if it is still read
	faults.Heal(worker0, ps0)
	if err := caller.Healthy(testContext(t), ps0); err != nil {
		t.Errorf("after Heal: %v", err)
	}
}

func TestDelay(t *testing.T) {
	caller, _, faults := local(t)
	const delay = 20 * time.Millisecond
	faults.Delay(worker0, ps0, delay)
	start := time.Now()
	if _, err := caller.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < delay {
		t.Errorf("a delayed call took %v", took)
	}
}

func TestRestart(t *testing.T) {
	caller, server, faults := local(t)
	if err := caller.Healthy(testContext(t), ps0); err != nil {
		t.Fatal(err)
	}
	server.Close()
	again := faults.Restart(ps0)
	defer again.Close()
	if err := again.Register(echo()); err != nil {
		t.Fatal(err)
	}
	again.Serve()
	if err := caller.Healthy(testContext(t), ps0); err != nil {
		t.Errorf("the task that was started again is not found: %v", err)
	}
	if again.Incarnation() == server.Incarnation() {
		t.Error("the incarnation is that of before")
	}
}
