package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// probeTimeout bounds the health check that distinguishes a slow answer from silence: peer.probe, except in tests.
const probeTimeout = time.Second

// peer is the connection to another task.
type peer struct {
	task    Task
	address string
	conn    *grpc.ClientConn
	bulk    bulkPool
	probe   time.Duration // time limit for showing that it is alive

	reportDamage func(error)

	mu      sync.Mutex
	refusal error // why the last attempt to connect was refused, or nil
	damage  error // bytes to or from it were damaged; never cleared
	known   bool  // it has talked to this node
	absent  absence
	waiting map[*waiter]struct{}
}

// waiter is a call that may still wait for the connection.
type waiter struct{ cancel context.CancelCauseFunc }

// peer returns the connection to a task, which it makes at the first call.
func (n *Node) peer(to Task) (*peer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ok := n.peers[to]; ok {
		return p, nil
	}
	if n.closed {
		return nil, fmt.Errorf("cluster: %v cannot call %v: %w", n.config.Task, to, net.ErrClosed)
	}
	p, err := n.newPeer(to)
	if err != nil {
		return nil, err
	}
	n.peers[to] = p
	return p, nil
}

// newPeer makes the connection to a task.
func (n *Node) newPeer(to Task) (*peer, error) {
	address, ok := n.config.Spec.Address(to.Job, to.Index)
	if !ok {
		return nil, fmt.Errorf("cluster: %v is not in the cluster %v", to, n.config.Spec)
	}
	p := &peer{task: to, address: address, waiting: map[*waiter]struct{}{}, probe: probeTimeout, reportDamage: n.damaged}
	conn, err := grpc.NewClient("passthrough:///"+address, n.dialOptions(p)...)
	if err != nil {
		return nil, fmt.Errorf("cluster: %v at %s: %w", to, address, err)
	}
	p.conn = conn
	return p, nil
}

func (p *peer) close() error { return p.conn.Close() }

// refused ends the calls that wait for the peer; nil does nothing.
func (p *peer) refused(why error) {
	if why == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusal = why
	p.end(why)
}

// end ends the calls that wait for the peer; mu is held.
func (p *peer) end(why error) {
	for w := range p.waiting {
		w.cancel(why)
	}
	clear(p.waiting)
}

// damaged ends the calls that wait for the peer, and all later ones: any of them may have been damaged.
func (p *peer) damaged(err error) {
	p.mu.Lock()
	first := p.damage == nil
	if first {
		p.damage = &codedError{err, codes.DataLoss}
		p.end(p.damage)
	}
	p.mu.Unlock()
	if first {
		p.reportDamage(fmt.Errorf("%v (%s): %w", p.task, p.address, err))
	}
}

// accepted records that the peer talks (again).
func (p *peer) accepted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusal, p.known, p.absent.trouble = nil, true, nil
}

// met reports whether the peer has ever talked to this node.
func (p *peer) met() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// enter returns a context that ends when the peer refuses to talk, until leave is called. It returns an
// error if the peer already refuses; attempts to connect continue meanwhile.
func (p *peer) enter(ctx context.Context) (context.Context, *waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.damage != nil {
		return nil, nil, p.damage
	}
	if p.refusal != nil {
		return nil, nil, p.refusal
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &waiter{cancel}
	p.waiting[w] = struct{}{}
	return ctx, w, nil
}

func (p *peer) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, w)
}

// failure classifies the error of a call; ctx is the call's.
func (p *peer) failure(ctx context.Context, method string, err error) error {
	e := &PeerError{Task: p.task, Address: p.address, Method: method, Err: err}
	p.mu.Lock()
	refusal, damage := p.refusal, p.damage
	p.mu.Unlock()
	cause := context.Cause(ctx)
	code := status.Code(err)
	switch {
	case damage != nil && (errors.Is(err, damage) || errors.Is(cause, damage) || code == codes.Unavailable || code == codes.DataLoss):
		e.Err = damage
	case code == codes.DataLoss:
		e.Kind = ErrDamaged
	case refusal != nil && (errors.Is(err, refusal) || errors.Is(cause, refusal) || code == codes.Unavailable):
		e.Kind, e.Err = ErrRefused, refusal
	case code == codes.Unauthenticated:
		e.Kind = ErrRefused
	case code == codes.PermissionDenied:
		e.Kind, e.Err = ErrRefused, &codedError{fmt.Errorf("%w: %s", ErrOtherJob, status.Convert(err).Message()), code}
	case code == takenCode:
		e.Kind, e.Err = ErrRefused, &codedError{fmt.Errorf("%w: %s", ErrTaken, status.Convert(err).Message()), code}
	case code == codes.Unimplemented:
		e.Kind, e.Err = ErrRefused, fmt.Errorf("%w: are all tasks of the same version, and is this the right task?", err)
	case code == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"):
		e.Err = fmt.Errorf("%w: send it in parts, or raise rpc.max_message_mb for all tasks", err)
	case code == codes.Unavailable:
		e.Kind = ErrPeerLost
	case code == codes.DeadlineExceeded, code == codes.Canceled && errors.Is(cause, context.DeadlineExceeded):
		if !p.alive() {
			e.Kind = ErrPeerLost
		}
		e.Err = fmt.Errorf("%w: %w", deadlineOf(ctx), err)
	case p.conn.GetState() == connectivity.Shutdown:
		e.Err = fmt.Errorf("%w: %w", net.ErrClosed, err)
	case code == codes.Canceled && ctx.Err() != nil: // for any reason
		e.Err = fmt.Errorf("%w: %w", context.Canceled, err)
	}
	return e
}

// clockSkew is how much earlier the peer may find that a deadline has passed.
const clockSkew = 100 * time.Millisecond

// deadlineOf returns the deadline that a call has exceeded: its context's, if that has passed.
func deadlineOf(ctx context.Context) error {
	if at, ok := ctx.Deadline(); ok && time.Until(at) < clockSkew {
		<-ctx.Done()
	}
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return context.DeadlineExceeded
}

// alive reports whether the peer answers; then it was only slow with a call.
func (p *peer) alive() bool {
	if p.conn.GetState() != connectivity.Ready {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.probe)
	defer cancel()
	_, err := healthpb.NewHealthClient(p.conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err == nil
}
