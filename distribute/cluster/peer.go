package cluster

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// peer is the connection to another task.
type peer struct {
	task    Task
	address string
	conn    *grpc.ClientConn
}

// peer returns the connection to a task, making it where it is the first time.
func (n *Node) peer(to Task) (*peer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ok := n.peers[to]; ok {
		return p, nil
	}
	if n.closed {
		return nil, fmt.Errorf("cluster: %v cannot call %v: %w", n.config.Task, to, net.ErrClosed)
	}
	address, ok := n.config.Spec.Address(to.Job, to.Index)
	if !ok {
		return nil, fmt.Errorf("cluster: %v is not in the cluster %v", to, n.config.Spec)
	}
	p := &peer{task: to, address: address}
	conn, err := grpc.NewClient("passthrough:///"+address, n.dialOptions(p)...)
	if err != nil {
		return nil, fmt.Errorf("cluster: %v at %s: %w", to, address, err)
	}
	p.conn = conn
	n.peers[to] = p
	return p, nil
}

func (p *peer) close() error { return p.conn.Close() }

// dialOptions: names are resolved at every attempt (passthrough and a plain
// dialer), so that a task that came back elsewhere is found, and waits between
// attempts stay short.
func (n *Node) dialOptions(p *peer) []grpc.DialOption {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if n.config.dial != nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) { return n.config.dial(ctx, p.task) }
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(n.security.client()),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(dial),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: pingTimeout(n.config.PeerTimeout), PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(n.config.MaxMessageBytes+prefixLen),
			grpc.MaxCallSendMsgSize(n.config.MaxMessageBytes+prefixLen)),
	}
}

// pingTimeout: gRPC sends a ping after 10 s of silence at the earliest.
func pingTimeout(peerTimeout time.Duration) time.Duration {
	return max(peerTimeout-15*time.Second, 2*time.Second)
}

// failure says of what kind an error of a call is.
func (p *peer) failure(ctx context.Context, method string, err error) error {
	e := &PeerError{Task: p.task, Address: p.address, Method: method, Err: err}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		e.Kind = ErrPeerLost
	case codes.Unauthenticated, codes.Unimplemented:
		e.Kind = ErrRefused
	}
	return e
}
