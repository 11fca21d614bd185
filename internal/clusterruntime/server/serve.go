package server

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxMessage is the largest size of a message: Protocol Buffers cannot be larger.
	maxMessage = 1<<31 - 1
	// window is the window of gRPC's streams and connections. Larger ones are slower on loopback: data in transit leaves the caches.
	window = 4 << 20
	// buffer is how much a connection reads and writes at once.
	buffer = 128 << 10
	// maxStreams is how many calls may run at the same time on one connection. Another task has a call of RecvTensor for each tensor
	// that it waits for, on one connection.
	maxStreams = 1 << 14
	// maxConnections is the most connections of a server.
	maxConnections = 1 << 12
	// handshake is the time in which a connection must begin as HTTP/2.
	handshake = 10 * time.Second
	// drainTime is how long running steps may take when a server shuts down, by default.
	drainTime = 10 * time.Second
	// partingTime is how long sending the answers may take after that.
	partingTime = time.Second
)

// Counted returns a listener for another server with these services, see Register: its connections count as this server's clients.
func (s *Server) Counted(l net.Listener) net.Listener { return s.clients.GRPCListener(l, nil) }

// Serve serves on a listener until ctx ends, and closes it. When ctx ends, new steps are refused, and running ones have the time
// Config.Drain to end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	direct := transport.NewServer()
	g := grpc.NewServer(append(append(s.options(), admission.CountCalls()), direct.ServerOptions(s.config.Security.Serve)...)...)
	s.Register(admission.Counted(g))
	s.Register(direct)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.Drain()
		parting := time.AfterFunc(partingTime, func() {
			g.Stop()
			direct.Stop()
		})
		defer parting.Stop()
		g.GracefulStop()
		direct.GracefulStop()
	})
	err := g.Serve(s.Counted(l))
	if !stop() {
		<-ended
	}
	g.Stop()
	direct.Stop()
	return cmp.Or(ctx.Err(), err)
}

// options are the options of the server's gRPC.
func (s *Server) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		// A client whose machine has vanished is noticed within two minutes; then its steps end.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxHeaderListSize(admission.MaxHeaders),
		grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(handshake), grpc.WaitForHandlers(true),
		grpc.ForceServerCodecV2(codec.Codec{}), grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.WriteBufferSize(buffer), grpc.ReadBufferSize(buffer),
	}
}

// Drain refuses new steps, and gives running ones the time Config.Drain to end. The rest end with UNAVAILABLE.
func (s *Server) Drain() {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.config.Drain, drainTime))
	defer cancel()
	if n := s.calls.Drain(ctx); n > 0 {
		s.config.Log.Warn("steps are interrupted: they took longer than the server waits at its end", "steps", n, "waited", cmp.Or(s.config.Drain, drainTime))
	}
}

// DrainAfter drains the server when ctx ends, for services that another server serves.
func (s *Server) DrainAfter(ctx context.Context) { context.AfterFunc(ctx, s.Drain) }
