package ps

import (
	"context"
	"testing"
	"time"
)

// TestPushBringsValues checks that a push with a mirror is equivalent to a push and a
// Pull.
func TestPushBringsValues(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 2, ServerConfig{})
	ctx := testContext(t)
	m := b.mirror(t, b.c)
	other := b.Client(1, ClientConfig{})
	if _, err := other.WaitReady(ctx, b.p); err != nil {
		t.Fatal(err)
	}
	one := newReference(t, b.job)
	for step := range int64(4) {
		g := b.gradients(int(step))
		one.run(g)
		if step == 2 { // another worker's push, included in the next answer
			if r, err := other.Push(ctx, Push{Step: step, Gradients: g}); err != nil || r.Pulled {
				t.Fatalf("%+v, %v", r, err)
			}
			continue
		}
		before := m.Version("w")
		r, err := b.c.Push(ctx, Push{Step: step, Gradients: g, Into: m})
		if err != nil || !r.Pulled || r.GlobalStep != step+1 {
			t.Fatalf("%+v, %v", r, err)
		}
		compare(t, m.tensors, one.all(), 1e-6)
		if m.Version("w") == before {
			t.Errorf("step %d: the version of w is still %d", step, before)
		}
	}
}

// TestPushAppliedBeforeItsEnd has a push that server 0 has applied when the connection
// breaks: when repeated it is counted, but not applied again.
func TestPushAppliedBeforeItsEnd(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 1, ServerConfig{})
	ctx := testContext(t)
	g := b.gradients(5)
	_, ids, _ := b.c.connection()
	out := &outgoing{c: b.c, p: b.p, Push: Push{Gradients: g}, parts: make([]outgoingPart, 2), sequence: 1}
	if err := out.prepare(); err != nil {
		t.Fatal(err)
	}
	m := b.mirror(t, b.c)
	first := m.have[0]
	if b.p.units[0].Server != 0 {
		t.Fatal("part 0 is not on server 0")
	}
	broken, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := out.attempt(broken, 0, ids[0], nil, make(chan struct{}))
		done <- err
	}()
	for m.have[0] == first {
		p, err := b.c.Pull(ctx, m)
		if err != nil || p.GlobalStep != 0 {
			t.Fatal(p, err)
		}
		time.Sleep(time.Millisecond) // not to keep the server busy
	}
	cancel()
	if err := <-done; err == nil {
		t.Fatal("the push did not break")
	}
	if r, err := b.c.Push(ctx, Push{Gradients: g}); err != nil || r.GlobalStep != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	one := newReference(t, b.job)
	one.run(g)
	compare(t, b.mirror(t, b.c).tensors, one.all(), 1e-6)
}
