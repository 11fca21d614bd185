package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/runconfig"
)

// TestOverduePeer: a missing task is reported every ten seconds, as long as a call
// waits for it.
func TestOverduePeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // now connections are refused
	n, err := Open(Config{Task: worker0, Spec: runconfig.NewClusterSpec(map[string][]string{"ps": {address}}), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	p, err := n.peer(ps0)
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	delete(n.peers, ps0) // the node's own look-out would interfere
	n.mu.Unlock()
	defer p.close()
	now := time.Now()
	if waited, _ := p.overdue(now.Add(time.Hour)); waited != 0 {
		t.Errorf("overdue by %v, though nobody waits", waited)
	}
	_, w, err := p.enter(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.cancel(nil)
	p.conn.Connect()
	for p.why() == nil { // it has tried to connect
		time.Sleep(time.Millisecond)
	}
	p.overdue(now) // notices
	for _, c := range []struct{ after, want time.Duration }{
		{waiting.Interval - 1, 0}, {waiting.Interval, waiting.Interval}, {waiting.Interval + 1, 0}, {2*waiting.Interval - 1, 0}, {2 * waiting.Interval, 2 * waiting.Interval},
	} {
		if waited, why := p.overdue(now.Add(c.after)); waited != c.want || waited > 0 && why != "connection refused" {
			t.Errorf("after %v: overdue by %v (%s), expected %v", c.after, waited, why, c.want)
		}
	}
	if why := n.Probe(testContext(t), ps0); why != "connection refused" {
		t.Errorf("the probe says %q", why)
	}
	if place := n.Place(ps0); place != "/job:ps/task:0 at "+address {
		t.Errorf("place %q", place)
	}
	p.leave(w)
	if waited, _ := p.overdue(now.Add(time.Hour)); waited != 0 {
		t.Errorf("overdue by %v, though nobody waits any more", waited)
	}
}

// TestProbe returns nothing for a task that answers.
func TestProbe(t *testing.T) {
	from, _ := sockets(t, nil, echo())
	if why := from.Probe(testContext(t), ps0); why != "" {
		t.Errorf("the probe says %q of a task that is there", why)
	}
}

func TestBrief(t *testing.T) {
	for want, err := range map[string]error{
		"connection refused": &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}},
		"no such host":       &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "ps-1"}},
		"no answer":          fmt.Errorf("dial: %w", context.DeadlineExceeded),
		"EOF":                errors.New("EOF"),
	} {
		if got := brief(err); !strings.EqualFold(got, want) {
			t.Errorf("%v: %q, expected %q", err, got, want)
		}
	}
}
