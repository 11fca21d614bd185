package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// offer is the header with which clients announce that they know this transport, and servers that they serve it.
const offer, version = "goestimator-transport", "1"

const (
	// dialTime is the time limit for connecting and exchanging prefaces.
	dialTime = 10 * time.Second
	// retryAfter is the time between attempts to connect to a server that answers the offer but cannot be reached.
	retryAfter = 5 * time.Second
)

// Options of a Conn.
type Options struct {
	Credentials credentials.TransportCredentials // for connections of both kinds
	PerCall     credentials.PerRPCCredentials    // metadata of each call; nil: none
	GRPC        []grpc.DialOption                // further gRPC options
}

// often makes gRPC retry soon while a server restarts. Its default pauses grow to two minutes; TensorFlow's to a second.
var often = grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}, MinConnectTimeout: dialTime}

// Dial returns all options for gRPC's connection.
func (o Options) Dial() []grpc.DialOption {
	all := append([]grpc.DialOption{grpc.WithTransportCredentials(o.Credentials), grpc.WithNoProxy(), grpc.WithConnectParams(often)}, o.GRPC...)
	if o.PerCall != nil {
		all = append(all, grpc.WithPerRPCCredentials(o.PerCall))
	}
	return all
}

// Conn calls the services of a server, through gRPC or this transport, as the server offers. It is safe for concurrent use.
type Conn struct {
	*grpc.ClientConn
	address string
	o       Options

	link   atomic.Pointer[clientLink]
	ctx    context.Context // until Close
	cancel context.CancelFunc
	done   sync.WaitGroup

	retry time.Duration // time to the next attempt after a failed one

	mu         sync.Mutex
	connecting bool
	failed     time.Time // when connecting failed
}

var _ grpc.ClientConnInterface = (*Conn)(nil)

// NewConn returns a Conn to an address, host:port, which connects on first use. Close ends it.
func NewConn(address string, o Options) (*Conn, error) {
	g, err := grpc.NewClient("passthrough:///"+address, o.Dial()...)
	if err != nil {
		return nil, err
	}
	c := &Conn{ClientConn: g, address: address, o: o, retry: retryAfter}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Invoke implements grpc.ClientConnInterface. Calls with options that this transport does not know go through gRPC.
func (c *Conn) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	l := c.link.Load()
	if l == nil || !known(opts) {
		return c.offer(ctx, method, in, out, opts)
	}
	with, err := c.perCall(ctx)
	if err != nil {
		return err
	}
	head, began, err := l.invoke(with, method, in, out)
	if !began {
		return c.offer(ctx, method, in, out, opts)
	}
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.PeerCallOption:
			*o.PeerAddr = peer.Peer{Addr: l.conn.RemoteAddr()}
		case grpc.HeaderCallOption:
			if head != nil {
				*o.HeaderAddr = head.header
			}
		case grpc.TrailerCallOption:
			if head != nil {
				*o.TrailerAddr = head.trailer
			}
		}
	}
	return err
}

// known reports whether the transport supports these options.
func known(opts []grpc.CallOption) bool {
	for _, o := range opts {
		switch o.(type) {
		case grpc.PeerCallOption, grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.FailFastCallOption:
		default:
			return false
		}
	}
	return true
}

// perCall adds the metadata of each call.
func (c *Conn) perCall(ctx context.Context) (context.Context, error) {
	if c.o.PerCall == nil {
		return ctx, nil
	}
	all, err := c.o.PerCall.GetRequestMetadata(ctx)
	if err != nil {
		return nil, status.Convert(err).Err()
	}
	for key, value := range all {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx, nil
}

// offer calls through gRPC and, if the server offers this transport, also connects with it.
func (c *Conn) offer(ctx context.Context, method string, in, out any, opts []grpc.CallOption) error {
	var got metadata.MD
	ctx = metadata.AppendToOutgoingContext(ctx, offer, version)
	err := c.ClientConn.Invoke(ctx, method, in, out, append(opts[:len(opts):len(opts)], grpc.Header(&got))...)
	for _, v := range got.Get(offer) {
		if v == version {
			c.connect()
		}
	}
	return err
}

// connect begins to connect with this transport, unless that was done already, or failed recently.
func (c *Conn) connect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.connecting || c.ctx.Err() != nil || time.Since(c.failed) < c.retry {
		return
	}
	c.connecting = true
	c.done.Go(func() {
		conn, err := c.dial()
		if err == nil {
			l := newClientLink(newLink(conn), c.address)
			stop := context.AfterFunc(c.ctx, func() { l.close(errEnded) })
			c.link.Store(l)
			l.run()
			c.link.Store(nil)
			stop()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.connecting = false; err != nil {
			c.failed = time.Now()
		}
	})
}

var errEnded = errors.New("it was closed by this process")

// dial connects, and exchanges prefaces.
func (c *Conn) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, dialTime)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, _, err := c.o.Credentials.ClientHandshake(ctx, c.address, raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	var got [len(preface)]byte
	if _, err = io.WriteString(conn, preface); err == nil {
		_, err = io.ReadFull(conn, got[:])
	}
	if err == nil && string(got[:]) != preface {
		err = fmt.Errorf("%w: the server begins with %q", errMalformed, got)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
	}
	return conn, err
}

// Direct reports whether calls use this transport at present.
func (c *Conn) Direct() bool { return c.link.Load() != nil }

// GetState returns the state of the connection that calls use.
func (c *Conn) GetState() connectivity.State {
	if c.Direct() {
		return connectivity.Ready
	}
	return c.ClientConn.GetState()
}

// Close ends all calls and connections.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	err := c.ClientConn.Close()
	c.done.Wait()
	return err
}
