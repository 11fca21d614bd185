package cluster

import (
	"context"
	"math"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// Window is how many bytes of a stream may always be in transit. Send of a frame up to this
// size (header, body and a few bytes) does not wait for the peer if the peer has received
// everything before. A larger one may, so two tasks that both send first and then receive
// must use two goroutines.
const Window = 64 << 10

// grpcWindow is the window of gRPC's streams and connections. Larger ones are slower on
// loopback: data in transit leaves the caches.
const grpcWindow = 4 << 20

const (
	// bufferSize is how much a plaintext connection reads and writes at once.
	bufferSize = 128 << 10
	// pingAfter is how long a connection is silent before it is pinged: gRPC's minimum.
	pingAfter = 10 * time.Second
	// minPing is the least time for the answer to a ping.
	minPing = 2 * time.Second
)

// pingTimeout is the part of the peer timeout for the answer to a ping, minus a margin for
// the news of the connection's end to spread.
func (c Config) pingTimeout() time.Duration {
	return max(c.PeerTimeout-pingAfter-5*time.Second, minPing)
}

// dialOptions resolve names at every attempt (passthrough and a plain dialer), so that a task
// that returns elsewhere is found, and keep the time between attempts short. Requests are not
// kept for sending again (the retry buffer is empty), because their chunks belong to the
// caller.
func (n *Node) dialOptions(p *peer) []grpc.DialOption {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		c, err := n.dialPeer(ctx, p)
		if err != nil {
			p.failed(err)
		}
		return c, err
	}
	limit := n.config.MaxMessageBytes + prefixLen
	return []grpc.DialOption{
		grpc.WithTransportCredentials(clientCredentials{security: n.security, peer: p}),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(dial),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithInitialWindowSize(grpcWindow),
		grpc.WithInitialConnWindowSize(grpcWindow),
		grpc.WithWriteBufferSize(bufferSize),
		grpc.WithReadBufferSize(0), // connections have their own buffers
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: n.config.pingTimeout(), PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit), grpc.MaxCallSendMsgSize(limit), grpc.MaxRetryRPCBufferSize(0)),
	}
}

func (n *Node) serverOptions() []grpc.ServerOption {
	limit := n.config.MaxMessageBytes + prefixLen
	return []grpc.ServerOption{
		grpc.Creds(serverCredentials{n.security, n.bulkServer, n.config.PeerTimeout}),
		grpc.UnknownServiceHandler(n.unknown),
		admission.CountCalls(),
		grpc.MaxRecvMsgSize(limit),
		grpc.MaxSendMsgSize(math.MaxInt32), // callers set the limit; callers of foreign services accept more
		grpc.MaxConcurrentStreams(1024),
		grpc.MaxHeaderListSize(admission.MaxHeaders),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.InitialWindowSize(grpcWindow),
		grpc.InitialConnWindowSize(grpcWindow),
		grpc.WriteBufferSize(bufferSize),
		grpc.ReadBufferSize(0),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: n.config.pingTimeout()}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingAfter / 2, PermitWithoutStream: true}),
	}
}
