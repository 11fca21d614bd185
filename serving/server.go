package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/monitoring"
	"github.com/goestimator/goestimator/internal/serving/objectstore"
	"github.com/goestimator/goestimator/internal/serving/page"
	"github.com/goestimator/goestimator/internal/serving/profiler"
	"github.com/goestimator/goestimator/internal/serving/requestlog"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/shadow"
	"github.com/goestimator/goestimator/internal/serving/tracing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// maxConnections bounds the number of connections of all ports together.
const maxConnections = 1 << 14

// Server is a model server.
type Server struct {
	o          Options
	listeners  listeners
	models     *manager.Manager
	registry   *monitoring.Registry
	requests   *requestlog.Logger
	scheduler  *batching.Scheduler // nil: no batching
	memory     *budget.Server      // of requests
	observers  []inference.Observer
	page       *page.Page // nil: none
	mirror     *shadow.Mirror
	profiler   *profiler.Service
	store      *objectstore.Store // for models in buckets
	about      servable.About
	repository repository
	health     *health.Server
	grpc       []*grpc.Server       // of the port and of the socket
	rest       admission.HTTPServer // of the REST port, if there is one

	places           *admission.Places // for connections, of all ports
	connections      connections       // of rest
	handshakeTimeout time.Duration     // time in which a new client must send what comes first: TLS, and HTTP/2 or a request's headers
	keepAliveGrace   time.Duration
	arrivalGrace     time.Duration

	ready     atomic.Bool
	available chan struct{} // closed when the models are available
	draining  context.Context
	drain     context.CancelFunc
	ending    context.Context // ends some time after draining: incomplete requests are then refused
	refuse    context.CancelFunc
}

// New makes a Server and listens; Run makes it answer. Call Close for a Server that is
// not run.
func New(o Options) (*Server, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	ls, err := o.Listen.open()
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, listeners: ls, places: admission.NewPlaces(maxConnections, o.Log), health: newHealth(), available: make(chan struct{}), handshakeTimeout: 10 * time.Second, keepAliveGrace: keepAliveGrace, arrivalGrace: arrivalGrace}
	s.repository.s, s.about = s, servable.About{Build: o.Build, Started: time.Now()}
	s.memory = budget.NewServer(budget.Limits{Server: o.Requests.Memory, Request: o.Requests.MemoryEach})
	s.draining, s.drain = context.WithCancel(context.Background())
	s.ending, s.refuse = context.WithCancel(context.Background())
	s.registry = monitoring.New(func(model string) bool { return s.models.Has(model) })
	if s.models, err = s.newManager(); err != nil {
		ls.close()
		return nil, err
	}
	s.store = s.newStore()
	s.requests = requestlog.New(requestlog.Options{Dir: o.RequestLogDir, Log: o.Log, Logged: s.registry.Logged})
	s.profiler = &profiler.Service{Ending: s.draining.Done(), Queued: s.queued}
	s.observers = []inference.Observer{s.registry, s.requests, s.profiler}
	if o.Listen.REST >= 0 && !o.NoPage {
		if s.page, err = page.New(page.Options{Models: source{s.models}, Catalog: s.models, Meter: s.models, About: s.about}); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.observers = append(s.observers, s.page)
	}
	s.mirror = s.newMirror()
	s.observers = append(s.observers, s.mirror)
	if o.AccessLog {
		s.observers = append(s.observers, requestlog.Access{Log: o.Log})
	}
	if b := o.Batching; b != nil {
		s.scheduler = batching.NewScheduler(batching.Options{Threads: b.NumBatchThreads, Name: b.ThreadPoolName, Observer: s.registry})
	}
	if err := s.addMetrics(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// addMetrics adds the metrics that do not come from requests.
func (s *Server) addMetrics() error {
	return errors.Join(
		s.registry.Gauge("serving_request_memory_bytes", "Bytes that requests hold.", func() float64 { return float64(s.memory.Used()) }),
		s.registry.Gauge("serving_queue", "Requests (with batching: rows) that wait for their turn.", s.queued),
		s.registry.Gauge("serving_uptime_seconds", "Seconds since the server was made.", func() float64 { return time.Since(s.about.Started).Seconds() }),
		s.registry.Usage(s.models, s.models),
		s.registry.Build(s.o.Version, s.o.Build),
	)
}

// queued returns the number of waiting requests or, with batching, of waiting rows.
func (s *Server) queued() float64 {
	if s.scheduler != nil && !s.o.Batching.PerModel {
		return float64(s.scheduler.Queued())
	}
	n := 0
	for _, name := range s.models.Models() {
		for _, u := range s.models.Usage(name) {
			n += u.Queue
		}
	}
	return float64(n)
}

// Addresses are where a Server listens, as host:port or a path; "" if it does not. Of the two loopback addresses it is
// the IPv4 one.
type Addresses struct {
	GRPC   string `json:"grpc,omitempty"`
	REST   string `json:"rest,omitempty"`
	Socket string `json:"socket,omitempty"`
}

// Addresses returns where s listens, with the free ports that were chosen.
func (s *Server) Addresses() Addresses {
	return Addresses{GRPC: firstAddress(s.listeners.grpc), REST: firstAddress(s.listeners.rest), Socket: firstAddress(s.listeners.sockets())}
}

// Ready reports whether the models of the config are available and s is not ending.
func (s *Server) Ready() bool { return s.ready.Load() }

// Available is closed when s is ready for the first time.
func (s *Server) Available() <-chan struct{} { return s.available }

// Run answers requests until ctx ends. Until models are loaded, it answers requests
// for them with UNAVAILABLE. It returns an error if models of the config cannot be
// loaded. When ctx ends, s is not ready any more, accepts no new connections, asks
// clients to close theirs, lets requests finish for up to Options.Drain, and unloads.
// Run returns nil if all requests finished.
func (s *Server) Run(ctx context.Context) (err error) {
	if s.o.Tracing != nil {
		shutdown, err := tracing.Setup(ctx, s.o.Tracing.internal())
		if err != nil {
			return errors.Join(fmt.Errorf("tracing: %w", err), s.Close())
		}
		defer func() {
			within, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer stop()
			if err := shutdown(within); err != nil {
				s.o.Log.Warn("spans were lost", "error", err)
			}
		}()
	}
	failures := make(chan error, 8) // of the ports and of the start
	var work sync.WaitGroup
	s.serve(&work, failures)

	ctx, stop := context.WithCancel(ctx)
	work.Go(func() {
		if err := s.start(ctx); err != nil && ctx.Err() == nil {
			failures <- err
		}
	})
	select {
	case <-ctx.Done():
	case err = <-failures:
	}
	stop()
	err = errors.Join(err, s.Close())
	work.Wait()
	return err
}

// serve starts answering on all ports and sends their errors to failures.
func (s *Server) serve(work *sync.WaitGroup, failures chan<- error) {
	take := func(serve func(net.Listener) error, l net.Listener, secure *tls.Config, placed func(net.Listener, admission.Refusal) net.Listener, refusal admission.Refusal) {
		if secure != nil {
			refusal = nil // the client would see a broken handshake
		}
		work.Go(func() {
			if err := serve(placed(l, refusal)); err != nil && s.draining.Err() == nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
				failures <- fmt.Errorf("serving on %s: %w", l.Addr(), err)
			}
		})
	}
	for _, place := range []struct {
		at     []net.Listener
		secure *tls.Config
	}{{s.listeners.grpc, s.o.TLS}, {s.listeners.sockets(), nil}} {
		if len(place.at) == 0 {
			continue
		}
		g := s.newGRPC(place.secure, remote(place.at))
		s.grpc = append(s.grpc, g)
		for _, l := range place.at {
			take(g.Serve, l, place.secure, s.places.GRPCListener, admission.GRPCRefusal())
		}
	}
	if len(s.listeners.rest) > 0 {
		s.rest = s.newREST()
		for _, l := range s.listeners.rest {
			take(s.rest.Serve, l, s.o.RESTTLS, s.places.ListenerOf, admission.HTTPRefusal(admission.NoRoom))
		}
	}
	s.logListeners()
}

// logListeners logs the addresses and warns of what unauthenticated callers can do there.
func (s *Server) logListeners() {
	var at []any
	for _, l := range []struct {
		api string
		at  []net.Listener
	}{{"grpc", s.listeners.grpc}, {"rest", s.listeners.rest}, {"socket", s.listeners.sockets()}} {
		if len(l.at) > 0 {
			at = append(at, l.api, strings.Join(addresses(l.at), ","))
		}
	}
	s.o.Log.Info("listening", at...)
	grpc, rest := remote(s.listeners.grpc), remote(s.listeners.rest)
	if grpc && s.o.TLS == nil || rest && s.o.RESTTLS == nil {
		s.o.Log.Warn("other machines are served without TLS: requests, answers and tokens can be read and changed on the way")
	}
	switch {
	case !(grpc || rest) || s.o.Token != nil:
	case s.o.RemoteAdmin:
		s.o.Log.Warn("other machines are served without a token: anyone who reaches the ports may predict, and replace the models")
	default:
		s.o.Log.Warn("other machines are served without a token: anyone who reaches the ports may predict; reloading, profiling and reflection are refused")
	}
}

// start loads the models and follows the source of the config.
func (s *Server) start(ctx context.Context) error {
	cfg, err := s.o.Models.read(nil)
	if err != nil {
		return err
	}
	if err := s.Reload(ctx, cfg); err != nil {
		return err
	}
	s.ready.Store(true)
	setHealth(s.health, grpc_health_v1.HealthCheckResponse_SERVING)
	close(s.available)
	s.o.Log.Info("ready", "models", strings.Join(s.models.Models(), ","))
	var polls sync.WaitGroup
	polls.Go(func() { s.pollStore(ctx) })
	s.follow(ctx, cfg)
	polls.Wait()
	return nil
}

// Close ends a Server that is not run.
func (s *Server) Close() error {
	s.ready.Store(false)
	setHealth(s.health, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	s.drain()
	late := time.AfterFunc(min(s.arrivalGrace, s.o.Drain/4), s.refuse)
	defer late.Stop()
	defer s.refuse()
	ctx, stop := context.WithTimeout(context.Background(), s.o.Drain)
	defer stop()
	var ending sync.WaitGroup
	var cut atomic.Bool
	for _, g := range s.grpc {
		ending.Go(func() {
			if !stopGracefully(ctx, g) {
				cut.Store(true)
			}
		})
	}
	if s.rest.Server != nil {
		ending.Go(func() {
			if !s.stopREST(ctx) {
				cut.Store(true)
			}
		})
	}
	ending.Wait()
	s.listeners.close()
	var err error
	if cut.Load() {
		err = fmt.Errorf("requests were cut off that were not done after %v", s.o.Drain)
	}
	return errors.Join(err, s.unload())
}

// unload unloads the models. Aborted requests have five seconds to release them: a run that does not end must not
// prevent the server from ending.
func (s *Server) unload() error {
	s.memory.Close()
	ctx, stop := context.WithTimeout(context.Background(), min(s.o.Drain, 5*time.Second))
	defer stop()
	var err error
	if s.mirror != nil {
		err = s.mirror.Close(ctx)
	}
	err = errors.Join(err, s.models.Close(ctx), s.requests.Close(ctx), s.closeStore())
	if s.scheduler == nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		s.scheduler.Close()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, errors.New("a batch that is run did not end"))
	}
}

// stopGracefully lets the calls of g finish and reports whether they did before ctx ended.
func stopGracefully(ctx context.Context, g *grpc.Server) bool {
	done := make(chan struct{})
	go func() {
		g.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		g.Stop() // GracefulStop still waits for handlers, which end when their models do
		return false
	}
}
