package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/runconfig"
)

// closeGrace is how long Close lets calls that are being served finish.
const closeGrace = 500 * time.Millisecond

// Node is one task of the cluster: a server for other tasks' calls, and connections to these tasks. Its methods may be called
// from several goroutines.
type Node struct {
	config      Config
	incarnation uint64
	job         JobID
	holder      atomic.Pointer[JobID] // see Hold; nil: nobody
	claims      claims
	listener    net.Listener
	server      *grpc.Server
	health      *health.Server
	security    *security
	bulkServer  *bulkServer
	served      sync.WaitGroup
	calls       atomic.Int64  // being served, without streams
	harm        chan struct{} // closed when damage was found
	harmed      sync.Once
	closing     chan struct{} // closed by Close
	watched     sync.WaitGroup

	mu       sync.Mutex
	peers    map[Task]*peer
	services map[string]bool // names of registered services
	serving  bool
	closed   bool
}

// Open returns a node that listens at its address but does not serve yet; callers wait for Serve.
func Open(c Config) (*Node, error) {
	c = c.withDefaults()
	sec, err := newSecurity(c)
	if err != nil {
		return nil, runconfig.Mistake(err)
	}
	n := &Node{
		config: c, security: sec, bulkServer: newBulkServer(c.MaxMessageBytes),
		incarnation: newIncarnation(), harm: make(chan struct{}), closing: make(chan struct{}),
		job:      jobOf(c.JobName, c.Spec, c.Task),
		health:   health.NewServer(),
		peers:    map[Task]*peer{},
		services: map[string]bool{},
	}
	if n.listener, err = listen(c); err != nil {
		return nil, err
	}
	if n.listener != nil {
		n.server = grpc.NewServer(n.serverOptions()...)
		// Probes send no token, and at most ask for the name of a service.
		probes := admission.Limited{ServiceRegistrar: admission.Counted(n.server), Limit: 4 << 10, Timeout: 10 * time.Second, MaxCalls: 100}
		healthpb.RegisterHealthServer(probes, n.health)
		n.gated().RegisterService(n.describe(own()), nil)
		if !c.noBulk {
			n.gated().RegisterService(n.describe(n.bulkServer.service()), nil)
		}
	}
	n.watched.Go(n.watchPeers)
	opened.add(n)
	return n, nil
}

// gated is the server for registering services: welcome admits their calls.
func (n *Node) gated() admission.Gate {
	return admission.Gate{ServiceRegistrar: admission.Counted(n.server), Admit: n.welcome}
}

func newIncarnation() uint64 {
	for {
		if id := rand.Uint64(); id != 0 {
			return id
		}
	}
}

// maxConnections is the most connections of a node in a small cluster: each other task has a few.
const maxConnections = 1 << 12

// mostConnections is the most connections of a node; large clusters need more.
func mostConnections(tasks int) int { return max(maxConnections, tasks*(1+bulkLimit)) }

// Bounded returns a listener with as many connections at a time as a node in a cluster of that many tasks may have. Tasks keep
// theirs; the log reports when there are too many.
func Bounded(l net.Listener, tasks int, log *slog.Logger) net.Listener {
	return admission.NewPlaces(mostConnections(tasks), log).GRPCListener(l, nil)
}

func listen(c Config) (net.Listener, error) {
	if c.Listener != nil || c.Address == "" {
		return c.Listener, nil
	}
	l, err := net.Listen("tcp", ListenAddress(c.Address))
	if err != nil {
		return nil, listenError(c, err)
	}
	return Bounded(l, c.Spec.Len(), c.Log), nil
}

// ListenAddress returns where a task with this address listens: on loopback for a loopback address, otherwise on all
// interfaces. The address need not resolve here, nor belong to this host (a Kubernetes service, an address behind NAT).
func ListenAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address // net.Listen reports the error
	}
	if runconfig.Loopback(host) {
		return address
	}
	return net.JoinHostPort("", port)
}

// local reports whether no message of the cluster leaves this machine.
func (c Config) local() bool {
	host, _, err := net.SplitHostPort(c.Address)
	return err == nil && runconfig.Loopback(host) && c.Spec.OneMachine()
}

// Task returns the node's task.
func (n *Node) Task() Task { return n.config.Task }

// Incarnation returns a random nonzero number that distinguishes this start of the task from others.
func (n *Node) Incarnation() uint64 { return n.incarnation }

// Addr returns where the node listens, "" if it only calls.
func (n *Node) Addr() string {
	if n.listener == nil {
		return ""
	}
	return n.listener.Addr().String()
}

// Damaged is closed when bytes between this node and a peer that it calls were damaged in transit: see ErrDamaged.
func (n *Node) Damaged() <-chan struct{} { return n.harm }

// Closing is closed when the node is, by Close or Abort.
func (n *Node) Closing() <-chan struct{} { return n.closing }

func (n *Node) damaged(err error) {
	n.config.Log.Error("bytes between this task and another were changed on their way: it ends, to be started again", "task", n.config.Task.String(), "err", err)
	n.harmed.Do(func() { close(n.harm) })
}

// Spec returns the addresses of the cluster.
func (n *Node) Spec() runconfig.ClusterSpec { return n.config.Spec }

// Register adds a service; it must be called before Serve.
func (n *Node) Register(s Service) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.server == nil:
		return fmt.Errorf("cluster: %v cannot register service %s: it has no address to serve at", n.config.Task, s.Name)
	case n.serving || n.closed:
		return fmt.Errorf("cluster: %v cannot register service %s: the node already serves or is closed", n.config.Task, s.Name)
	case s.Name == "" || n.services[s.Name]:
		return fmt.Errorf("cluster: %v cannot register service %q: the name is empty or registered already", n.config.Task, s.Name)
	}
	for name := range s.Unary {
		if s.Streams[name] != nil {
			return fmt.Errorf("cluster: %v cannot register service %s: %s is both a call and a stream", n.config.Task, s.Name, name)
		}
	}
	n.services[s.Name] = true
	n.gated().RegisterService(n.describe(s), nil)
	return nil
}

// RegisterForeign adds services for callers that are not tasks of this project, such as TensorFlow's clients. They send the
// job token if there is one, and do not identify themselves otherwise. It must be called before Serve.
func (n *Node) RegisterForeign(register func(grpc.ServiceRegistrar)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || n.serving || n.closed {
		return fmt.Errorf("cluster: %v cannot register services: it has no address to serve at, already serves, or is closed", n.config.Task)
	}
	register(admission.Gate{ServiceRegistrar: admission.Counted(n.server), Admit: func(ctx context.Context, _ string) error {
		header, _ := metadata.FromIncomingContext(ctx)
		return n.checkToken(first(header, tokenKey))
	}})
	return nil
}

// Serve starts answering calls, and returns at once.
func (n *Node) Serve() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || n.serving || n.closed {
		return
	}
	n.serving = true
	n.served.Go(func() {
		if err := n.server.Serve(n.listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			n.config.Log.Error("the task stopped serving", "task", n.config.Task.String(), "err", err)
		}
	})
}

// Close stops the server, after giving current calls a short time to finish, and closes the connections to peers. Streams end.
// The time it takes is bounded; a second Close does nothing.
func (n *Node) Close() error { return n.close(n.stopServer) }

// close closes the node; stop stops its server.
func (n *Node) close(stop func()) error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	serving, peers := n.serving, n.peers
	n.mu.Unlock()
	opened.remove(n)
	close(n.closing)
	n.watched.Wait()

	var errs []error
	for _, p := range peers {
		errs = append(errs, p.close())
	}
	if n.server != nil {
		stop()
		if !serving {
			errs = append(errs, n.listener.Close())
		}
	}
	return errors.Join(errs...)
}

// stopServer gives current calls up to closeGrace to finish, then ends the rest, such as streams, which would continue as long
// as their callers. It waits that long again for the handlers; one that ignores its context is left behind.
func (n *Node) stopServer() {
	n.health.Shutdown()
	stopped := make(chan struct{})
	go func() {
		n.server.GracefulStop()
		n.served.Wait()
		close(stopped)
	}()
	const step, flush = 10 * time.Millisecond, 5 // the last answers take a moment to be sent
	idle := 0
	for waited := time.Duration(0); waited < closeGrace && idle < flush; waited += step {
		select {
		case <-stopped:
			return
		case <-time.After(step):
		}
		if idle++; n.calls.Load() > 0 {
			idle = 0
		}
	}
	go n.server.Stop()
	select {
	case <-stopped:
	case <-time.After(closeGrace):
		n.leftBehind()
	}
}

func (n *Node) leftBehind() {
	n.config.Log.Warn("the task stops serving while a handler goes on that does not heed its context", "task", n.config.Task.String())
}

// Healthy asks a task's health service once, within the context's deadline or
// the call timeout.
func (n *Node) Healthy(ctx context.Context, to Task) error {
	p, err := n.peer(to)
	if err != nil {
		return err
	}
	ctx, cancel := n.withDeadline(ctx)
	defer cancel()
	ctx, w, err := p.enter(ctx)
	if err != nil {
		return p.failure(context.Background(), "Check", err)
	}
	defer w.cancel(nil)
	defer p.leave(w)
	answer, err := healthpb.NewHealthClient(p.conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return p.failure(ctx, "Check", err)
	}
	if s := answer.GetStatus(); s != healthpb.HealthCheckResponse_SERVING {
		return p.failure(ctx, "Check", fmt.Errorf("the task is %v", s))
	}
	return nil
}
