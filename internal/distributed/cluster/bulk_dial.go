package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

const (
	// bulkPatience bounds how long a stream waits for a bulk connection to a connected peer.
	bulkPatience = 5 * time.Second
	// bulkAttempts is how often a connection that breaks during this is tried again.
	bulkAttempts = 3
	// bulkPause is how long a peer that refuses bulk connections is not asked again.
	bulkPause = 30 * time.Second
)

// bulkPool holds the bulk connections to a peer.
type bulkPool struct {
	mu      sync.Mutex
	idle    []*bulkConn
	carrier *watchedConn // the latest gRPC connection to the peer
	without *watchedConn // a gRPC connection whose peer refuses bulk connections
	until   time.Time    // the peer is not asked again before
}

// carried records the latest gRPC connection to the peer.
func (p *bulkPool) carried(w *watchedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.carrier = w
}

// take returns an idle connection, or nil; ask reports whether the peer may be asked for a
// new one.
func (p *bulkPool) take() (c *bulkConn, ask bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n-- {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !c.carrier.isClosed() && !c.broken.Load() {
			c.renew()
			return c, true
		}
	}
	return nil, p.without == nil || p.without != p.carrier || time.Now().After(p.until)
}

// put keeps a connection for another stream after its stream has ended.
func (p *bulkPool) put(c *bulkConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// refuse remembers that the peer refuses bulk connections.
func (p *bulkPool) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.without, p.until = p.carrier, time.Now().Add(bulkPause)
}

// drop closes the connection on the caller's side.
func (c *bulkConn) drop() {
	c.carrier.release(c)
	c.Close()
}

// bulk returns a bulk connection to a connected peer for one stream, or nil if none is
// available, and then the stream's frames go by gRPC.
func (n *Node) bulk(ctx context.Context, p *peer) *bulkConn {
	if n.config.noBulk {
		return nil
	}
	for range bulkAttempts {
		if !p.awaitReady(ctx) {
			return nil
		}
		c, ask := p.bulk.take()
		if c != nil || !ask {
			return c
		}
		bounded, cancel := context.WithTimeout(ctx, bulkPatience)
		c, err := n.openBulk(bounded, p)
		cancel()
		switch {
		case err == nil:
			return c
		case ctx.Err() != nil: // the caller's end says nothing about the peer
			return nil
		case status.Code(err) == codes.Unavailable: // the peer was reconnected meanwhile
		default:
			p.bulk.refuse()
			n.config.Log.Debug("a peer takes tensors by gRPC only", "peer", p.task.String(), "err", err)
			return nil
		}
	}
	return nil
}

// awaitReady waits until the peer is connected.
func (p *peer) awaitReady(ctx context.Context) bool {
	for {
		switch s := p.conn.GetState(); s {
		case connectivity.Ready:
			return true
		case connectivity.Shutdown:
			return false
		case connectivity.Idle:
			p.conn.Connect()
			fallthrough
		default:
			if !p.conn.WaitForStateChange(ctx, s) {
				return false
			}
		}
	}
}

// openBulk asks the peer for a ticket, and sends it on a new connection.
func (n *Node) openBulk(ctx context.Context, p *peer) (*bulkConn, error) {
	var by grpcpeer.Peer
	var answer Frame
	err := p.conn.Invoke(ctx, bulkOpen, &outgoing{frame: &Frame{}}, &answer, grpc.CallContentSubtype(codecName), grpc.Peer(&by))
	if err != nil {
		return nil, err
	}
	defer answer.Release()
	carrier := connOf(&by)
	var m wire.BulkTicket
	if err := wire.Decode(answer.Header, &m); err != nil {
		return nil, fmt.Errorf("the ticket of %v: %w", p.task, err)
	}
	var t ticket
	if len(m.Ticket) != len(t) || carrier == nil {
		return nil, fmt.Errorf("%v answered with a ticket of %d bytes, expected %d", p.task, len(m.Ticket), len(t))
	}
	copy(t[:], m.Ticket)
	raw, err := n.dialBulk(ctx, p, t)
	if err != nil {
		return nil, fmt.Errorf("a bulk connection to %v: %w", p.task, err)
	}
	c := newBulkConn(raw, carrier, t, n.config.MaxMessageBytes, n.security.sums)
	if !carrier.adopt(c) {
		c.Close()
		return nil, status.Error(codes.Unavailable, "the connection to the peer is closed")
	}
	return c, nil
}

func (n *Node) dialBulk(ctx context.Context, p *peer, t ticket) (net.Conn, error) {
	c, err := n.dialPeer(ctx, p)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if f := n.security.files; f != nil {
		secured, _, err := credentials.NewTLS(f.clientConfig(n.config.Security)).ClientHandshake(ctx, cmp.Or(n.config.Security.ServerName, p.address), c)
		if err != nil {
			c.Close()
			return nil, err
		}
		c = secured
	}
	hello, answer := helloOf(t), bulkTaken
	_, err = c.Write(hello[:])
	if err == nil {
		_, err = io.ReadFull(c, answer[:])
	}
	if err == nil && answer != bulkTaken {
		err = fmt.Errorf("%w: the answer is %x, expected %x", ErrDamaged, answer, bulkTaken)
		p.damaged(err)
	}
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// dialPeer connects to a peer.
func (n *Node) dialPeer(ctx context.Context, p *peer) (net.Conn, error) {
	if n.config.dial != nil {
		return n.config.dial(ctx, p.task)
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	loseAfter(c, n.config.PeerTimeout)
	return c, nil
}
