package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc/connectivity"

	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// Place names a task with its address, for people.
func (n *Node) Place(t Task) string {
	if address, ok := n.config.Spec.Address(t.Job, t.Index); ok {
		return fmt.Sprintf("%v at %s", t, address)
	}
	return t.String()
}

// Probe describes briefly what is wrong with a task, "" if it answers.
func (n *Node) Probe(ctx context.Context, to Task) string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	err := n.Healthy(ctx, to)
	if err == nil {
		return ""
	}
	if p, _ := n.peer(to); p != nil {
		if why := p.why(); why != nil {
			err = why
		}
	}
	return brief(err)
}

// Gone reports whether a task's machine refuses connections to its address, so that the task has ended. A task that just
// does not answer, or whose machine does not, may come back.
func (n *Node) Gone(ctx context.Context, to Task) bool {
	address, ok := n.config.Spec.Address(to.Job, to.Index)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

const (
	// probeTime is how long a task may take to show that it is alive.
	probeTime = 2 * time.Second
	// lookout is how often a node checks whether calls wait for tasks that are not connected.
	lookout = time.Second
)

// watchPeers logs for which tasks calls wait, until the node is closed.
func (n *Node) watchPeers() {
	tick := time.NewTicker(lookout)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-n.closing:
			return
		}
		n.mu.Lock()
		var all []*peer
		for _, p := range n.peers {
			all = append(all, p)
		}
		n.mu.Unlock()
		for _, p := range all {
			if waited, why := p.overdue(time.Now()); waited > 0 {
				n.config.Log.Info(waiting.Target{Name: n.Place(p.task), Reason: why}.Text(waited))
			}
		}
	}
}

// absence tracks how long calls have been waiting for a peer that is not connected.
type absence struct {
	wait    *waiting.Wait // nil: no call waits
	trouble error         // of the last attempt to connect
}

// overdue returns how long calls have been waiting for the connection and why, if a report is due, or 0 if not.
func (p *peer) overdue(now time.Time) (waited time.Duration, why string) {
	connected := p.conn.GetState() == connectivity.Ready
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &p.absent
	switch {
	case connected || len(p.waiting) == 0:
		a.wait = nil
		return 0, ""
	case a.wait == nil:
		w := waiting.Begin(now)
		a.wait = &w
	}
	waited, due := a.wait.Due(now)
	switch {
	case !due:
		return 0, ""
	case a.trouble == nil:
		return waited, "no answer"
	}
	return waited, brief(a.trouble)
}

// failed records why an attempt to connect failed; nil: it succeeded.
func (p *peer) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.absent.trouble = err
}

// why is the error of the last attempt to connect, nil if it succeeded.
func (p *peer) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.absent.trouble
}

// brief describes a connection error in a few words.
func brief(err error) string {
	var name *net.DNSError
	var code syscall.Errno
	switch {
	case errors.As(err, &name):
		return name.Err
	case errors.As(err, &code):
		return code.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	}
	return err.Error()
}
