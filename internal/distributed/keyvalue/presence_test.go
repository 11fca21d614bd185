package keyvalue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// event waits for the next event of a presence.
func event(t *testing.T, p *Presence) Event {
	t.Helper()
	select {
	case e, ok := <-p.Events():
		if !ok {
			t.Fatal("the heartbeat ended without an event")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event")
	}
	panic("unreachable")
}

func TestStopReachesAllAtOnce(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		var all []*Presence
		for i := range 3 {
			p, err := Join(ctx, PresenceConfig{Pulse: s.as(i), Rank: i, Interval: 10 * time.Second})
			must(t, err)
			all = append(all, p)
		}
		wantError(t, RequestStop(ctx, s.as(1), ""), ErrInvalid)
		start := time.Now()
		must(t, RequestStop(ctx, s.as(1), "early stopping"))
		for _, p := range all {
			if e := event(t, p); e.Kind != StopRequested || e.Reason != "early stopping" {
				t.Errorf("got %v %q", e.Kind, e.Reason)
			}
		}
		if d := time.Since(start); d > 9*time.Second {
			t.Errorf("the stop took %v: it waited for the next heartbeat", d)
		}
		for _, p := range all[1:] {
			must(t, p.Leave(ctx))
		}
		members, err := s.as(0).Members(ctx)
		must(t, err)
		want := []State{Active, Done, Done}
		for i, m := range members {
			if m.Rank != i || m.Task != worker(i) || m.State != want[i] || m.Incarnation == 0 {
				t.Errorf("member %d: %+v", i, m)
			}
		}
		if len(members) != 3 {
			t.Errorf("%d members, expected 3", len(members))
		}
		all[0].Close()
	})
}

func TestSilentMemberIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewStore(Options{})
		p, err := Join(context.Background(), PresenceConfig{Pulse: b, Rank: 0})
		must(t, err)
		state := func() State {
			m, err := b.Members(context.Background())
			must(t, err)
			return m[0].State
		}
		time.Sleep(time.Minute)
		if got := state(); got != Active {
			t.Errorf("%v after a minute of heartbeats", got)
		}
		p.Close()
		time.Sleep(b.o.LostAfter + time.Second)
		if got := state(); got != Lost {
			t.Errorf("%v after silence", got)
		}
	})
}

func TestNewerProcessEndsTheOlder(t *testing.T) {
	b := NewStore(Options{})
	ctx := patient(t)
	p, err := Join(ctx, PresenceConfig{Pulse: b.As(cluster.Peer{Task: worker(0), Incarnation: 1}), Interval: 20 * time.Millisecond})
	must(t, err)
	q, err := Join(ctx, PresenceConfig{Pulse: b.As(cluster.Peer{Task: worker(0), Incarnation: 2}), Interval: 20 * time.Millisecond})
	must(t, err)
	if e := event(t, p); e.Kind != Replaced {
		t.Errorf("got %v: %v", e.Kind, e.Err)
	}
	p.Close()
	must(t, q.Leave(ctx))
}

// silent is a leader that does not answer.
type silent struct{ after time.Time }

func (s silent) Beat(ctx context.Context, _ Beat) (string, error) {
	if time.Now().Before(s.after) {
		return "", nil
	}
	<-ctx.Done()
	return "", ctx.Err()
}

func TestSilentLeaderIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Join(context.Background(), PresenceConfig{Pulse: silent{time.Now().Add(time.Second)}})
		must(t, err)
		start := time.Now()
		e := <-p.Events()
		if e.Kind != LeaderLost || !errors.Is(e.Err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second {
			t.Errorf("got %v: %v after %v", e.Kind, e.Err, time.Since(start))
		}
		p.Close()
	})
}

func TestRestartedLeaderIsNoticed(t *testing.T) {
	nodes, network := cluster.NewLocal(leader, worker(0))
	serve := func(n *cluster.Node) *cluster.Node {
		must(t, n.Register(NewStore(Options{}).Service()))
		n.Serve()
		return n
	}
	defer nodes[worker(0)].Close()
	first := serve(nodes[leader])
	ctx := patient(t)
	c := NewClient(nodes[worker(0)], leader)
	must(t, c.Set(ctx, "k", []byte("v")))
	p, err := Join(ctx, PresenceConfig{Pulse: c, Interval: 50 * time.Millisecond})
	must(t, err)
	defer p.Close()
	waiting := make(chan error, 1)
	go func() { _, err := c.Wait(ctx, "never"); waiting <- err }()
	first.Close()
	second := serve(network.Restart(leader))
	defer second.Close()
	wantError(t, <-waiting, ErrLeaderReset)
	wantError(t, c.Set(ctx, "k", nil), ErrLeaderReset)
	if e := event(t, p); e.Kind != LeaderReset {
		t.Errorf("got %v: %v", e.Kind, e.Err)
	}
	again := NewClient(nodes[worker(0)], leader)
	if _, ok, err := again.Get(ctx, "k"); ok || err != nil {
		t.Errorf("the new leader has the value (%v), or %v", ok, err)
	}
}
