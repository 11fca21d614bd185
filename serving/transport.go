package serving

import (
	"context"
	"crypto/tls"
	"math"
	"net/http"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/rest"
	"github.com/goestimator/goestimator/internal/serving/security"
	"github.com/goestimator/goestimator/internal/serving/tracing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

// service makes the inference service for one entry point.
func (s *Server) service(entrypoint string) *inference.Service {
	return &inference.Service{
		Models: source{s.models}, Observers: s.observers, Entrypoint: entrypoint,
		Content: s.o.Requests.Content, CheckMethods: s.o.Requests.CheckMethods, Log: s.o.Log,
	}
}

// openInference makes the service of the Open Inference Protocol for one entry point.
func (s *Server) openInference(entrypoint string) *openinference.Service {
	return &openinference.Service{Inference: s.service(entrypoint), Catalog: s.models, Repository: &s.repository, Ready: s.Ready, Version: s.o.Version}
}

// streamWindow is the flow-control window of a stream, in bytes.
const streamWindow = 1 << 20

// Limits of calls before their token is checked.
const (
	maxSmallMessage = 4 << 10          // bytes of a message to the health and reflection services
	healthTimeout   = 10 * time.Second // in which a message to the health service must arrive
	healthCalls     = 100              // concurrent calls to the health service on a connection
)

// newGRPC makes a gRPC server with all services. secure is nil for plaintext; remote says whether other machines can reach it.
func (s *Server) newGRPC(secure *tls.Config, remote bool) *grpc.Server {
	opts := []grpc.ServerOption{
		// Fixed windows: otherwise every request is followed by a ping that measures the connection.
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(4 * streamWindow),
		grpc.NumStreamWorkers(uint32(4 * runtime.GOMAXPROCS(0))), // reuse goroutines whose stacks have already grown
		grpc.MaxHeaderListSize(admission.MaxHeaders), grpc.ConnectionTimeout(s.handshakeTimeout),
		grpc.ChainUnaryInterceptor(s.registry.Unary, s.logAdmin),
		grpc.ChainStreamInterceptor(s.registry.Stream, s.logAdminStream, s.endStreams),
		// Clients may keep connections through proxies alive. Connections to lost hosts are closed.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	}
	if secure != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(secure)))
	}
	if s.o.Tracing != nil {
		opts = append(opts, grpc.StatsHandler(tracing.StatsHandler()))
	}
	limits := grpcapi.Limits{Timeout: s.o.Requests.GRPCTimeout, MaxMessage: int(min(s.o.Requests.MaxBytes, math.MaxInt32)), Memory: s.memory, Ending: s.ending, Log: s.o.Log}
	opts = append(opts, grpcapi.Options(limits)...)
	g := grpc.NewServer(append(opts, admission.CountCalls())...)
	counted := admission.Counted(g)
	gate := admission.Gate{ServiceRegistrar: counted, Admit: func(ctx context.Context, method string) error { return s.admit(ctx, method, remote) }}
	limits.Register(gate, s.service("GRPC"), &grpcapi.Models{Catalog: s.models, Reloader: s, Metrics: s.metrics})
	limits.RegisterOpenInference(gate, s.openInference("GRPC"))
	if !s.o.NoProfiler {
		limits.RegisterProfiler(gate, s.profiler)
	}
	reflection.Register(reflectionServer{admission.Limited{ServiceRegistrar: gate, Limit: maxSmallMessage, Ending: s.draining, MaxCalls: healthCalls}, g})
	grpc_health_v1.RegisterHealthServer(admission.Limited{ServiceRegistrar: counted, Limit: maxSmallMessage, Timeout: healthTimeout, Ending: s.ending, MaxCalls: healthCalls}, s.health)
	return g
}

// reflectionServer is a server whose reflection service accepts only short messages.
type reflectionServer struct {
	admission.Limited
	reflection.ServiceInfoProvider
}

func (s *Server) metrics() (value func(name string) int64) {
	now := s.registry.Snapshot()
	return func(name string) int64 {
		sum, _ := now.Sum(name)
		return int64(sum)
	}
}

// endStreams ends streams, such as health watches, when the server drains, since they
// would never end by themselves. Streams that wait for a message end by their Ending.
func (s *Server) endStreams(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, stop := context.WithCancel(stream.Context())
	defer stop()
	defer context.AfterFunc(s.draining, stop)()
	return handler(srv, endingStream{stream, ctx})
}

// endingStream is a stream with a context that ends early.
type endingStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s endingStream) Context() context.Context { return s.ctx }

// services are the names known to gRPC's health service: TensorFlow Serving's short
// names, the full names, and "" for the server as a whole.
var services = []string{"", "PredictionService", "ModelService", grpcapi.PredictionService, grpcapi.ModelService, openinference.Name}

func newHealth() *health.Server {
	h := health.NewServer()
	setHealth(h, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return h
}

func setHealth(h *health.Server, now grpc_health_v1.HealthCheckResponse_ServingStatus) {
	for _, name := range services {
		h.SetServingStatus(name, now)
	}
}

// newREST makes the HTTP server.
func (s *Server) newREST() admission.HTTPServer {
	extra := map[string]http.Handler{}
	if s.o.Metrics != "" {
		extra[s.o.Metrics] = s.registry.Handler()
	}
	if s.page != nil {
		extra["/"], extra["/page/"] = s.page, s.page
	}
	h := rest.New(rest.Options{
		Service: s.service("REST"), Catalog: s.models, Meter: s.models, About: &s.about, Ready: s.Ready, NotReady: s.notReady, Observers: s.observers,
		OpenInference: s.openInference("REST"), Admin: func(r *http.Request) (func(error), error) { return s.admitREST(r, remote(s.listeners.rest)) },
		Timeout: s.o.Requests.RESTTimeout, MaxBody: s.o.Requests.MaxBytes, Memory: s.memory, Ending: s.ending, CORS: s.o.Requests.CORS, Extra: extra,
	})
	if s.o.Token != nil {
		h = s.o.Token.check.Handler(h)
		if s.o.Requests.CORS {
			h = rest.Preflight(h)
		}
	}
	h = security.Browsers{Loopback: !remote(s.listeners.rest), Name: s.o.Listen.Host, AnyOrigin: s.o.Requests.CORS}.Handler(h)
	if s.o.Tracing != nil {
		h = tracing.Handler(h)
	}
	return admission.BoundHTTP(&http.Server{
		Handler: s.closeOnDrain(h), TLSConfig: s.o.RESTTLS, ConnState: s.connections.setState,
		// ReadTimeout is for requests that do not reach package rest, which has its own timeout.
		ReadHeaderTimeout: s.handshakeTimeout, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: admission.ErrorLog(s.o.Log),
	})
}
