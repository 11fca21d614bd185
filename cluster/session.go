package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Session runs steps of a graph on a cluster. It is safe for concurrent use: several steps may run at the same time.
type Session struct {
	conn   *transport.Conn
	master service.Caller
	handle string

	mu      sync.Mutex // guards the fields below, while the graph grows
	graph   *Graph
	version int64
}

// Option adjusts a session.
type Option func(*options)

type options struct {
	config for_core_protos_go_proto.ConfigProto
	tls    *tls.Config
	token  string
}

// SoftPlacement lets ops run on a CPU if their device does not exist, or cannot run them.
func SoftPlacement() Option { return func(o *options) { o.config.AllowSoftPlacement = true } }

// DeviceFilters limits the tasks that the session sees, such as "/job:ps" and "/job:worker/task:1". The session does not wait for others.
func DeviceFilters(devices ...string) Option {
	return func(o *options) { o.config.DeviceFilters = devices }
}

// TLS encrypts the connection.
func TLS(c *tls.Config) Option { return func(o *options) { o.tls = c } }

// Token sends the servers the token of their job (GOESTIMATOR_JOB_TOKEN). TensorFlow's servers have no tokens.
func Token(token string) Option { return func(o *options) { o.token = token } }

// maxMessage is the most bytes of a message, the limit of Protocol Buffers.
const maxMessage = math.MaxInt32

// window is the number of bytes that a server may send ahead of what the client has read, so that large tensors arrive without pauses.
const window = 8 << 20

// connect connects to a target, "grpc://host:port".
func connect(target string, o *options) (*transport.Conn, error) {
	address, ok := strings.CutPrefix(target, "grpc://")
	if !ok || address == "" {
		return nil, fmt.Errorf("target %q: expected grpc://host:port", target)
	}
	creds := insecure.NewCredentials()
	if o.tls != nil {
		creds = credentials.NewTLS(o.tls)
	}
	with := transport.Options{Credentials: creds, GRPC: []grpc.DialOption{grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(codec.Codec{}))}}
	if o.token != "" {
		with.PerCall = service.Token(o.token)
	}
	return transport.NewConn(address, with)
}

// waiting is a connection whose calls wait until the server listens.
type waiting struct{ *transport.Conn }

// Invoke implements grpc.ClientConnInterface.
func (w waiting) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	return w.Conn.Invoke(ctx, method, in, out, append(opts, grpc.WaitForReady(true))...)
}

// Dial opens a session for a graph at a task, "grpc://host:port". It waits until that task listens and all tasks of its cluster,
// except those that DeviceFilters leaves out, respond, or ctx ends. A nil graph is empty; Extend adds to it.
func Dial(ctx context.Context, target string, g *Graph, opts ...Option) (*Session, error) {
	o := &options{}
	for _, f := range opts {
		f(o)
	}
	conn, err := connect(target, o)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	if g == nil {
		g = &Graph{}
	}
	s := &Session{conn: conn, master: service.Remote{Conn: conn, Service: service.Master}, graph: g}
	first := service.Remote{Conn: waiting{conn}, Service: service.Master}
	out, err := service.Ask[rpcs.CreateSessionResponse](ctx, first, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: g.def, Config: &o.config, Target: target})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a session at %s: %w", target, errorOf(err)), conn.Close())
	}
	s.handle, s.version = out.GetSessionHandle(), out.GetGraphVersion()
	return s, nil
}

// Extend adds the nodes and functions of a graph. Their names must be new.
func (s *Session) Extend(ctx context.Context, g *Graph) error {
	if g == nil {
		return errors.New("extend the graph: expected a graph, got nil")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := service.Ask[rpcs.ExtendSessionResponse](ctx, s.master, "ExtendSession",
		&rpcs.ExtendSessionRequest{SessionHandle: s.handle, GraphDef: g.def, CurrentGraphVersion: s.version})
	if err != nil {
		return fmt.Errorf("extend the graph: %w", errorOf(err))
	}
	s.version = out.GetNewGraphVersion()
	s.graph = s.graph.with(g)
	return nil
}

// Close ends the session. Variables stay.
func (s *Session) Close(ctx context.Context) error {
	_, err := service.Ask[rpcs.CloseSessionResponse](ctx, s.master, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: s.handle})
	return errors.Join(errorOf(err), s.conn.Close())
}

// Device is a device of a task.
type Device struct {
	Name        string // "/job:ps/replica:0/task:1/device:CPU:0"
	Type        string // "CPU", "GPU"
	MemoryLimit int64  // bytes; 0: unknown
	Incarnation uint64 // changes when the task is restarted
}

// Devices lists the devices that the session sees, its own task's first.
func (s *Session) Devices(ctx context.Context) ([]Device, error) {
	out, err := service.Ask[rpcs.ListDevicesResponse](ctx, s.master, "ListDevices", &rpcs.ListDevicesRequest{SessionHandle: s.handle})
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", errorOf(err))
	}
	var all []Device
	for _, list := range [][]*device_attributes_go_proto.DeviceAttributes{out.GetLocalDevice(), out.GetRemoteDevice()} {
		for _, d := range list {
			all = append(all, Device{d.GetName(), d.GetDeviceType(), d.GetMemoryLimit(), d.GetIncarnation()})
		}
	}
	return all, nil
}

// Reset deletes the variables of containers (without any, of the default container) on all tasks of the target's cluster,
// and closes all sessions of the target. It waits as Dial does.
func Reset(ctx context.Context, target string, containers []string, opts ...Option) error {
	o := &options{}
	for _, f := range opts {
		f(o)
	}
	conn, err := connect(target, o)
	if err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	_, err = service.Ask[rpcs.ResetResponse](ctx, service.Remote{Conn: waiting{conn}, Service: service.Master}, "Reset",
		&rpcs.ResetRequest{Container: containers, DeviceFilters: o.config.GetDeviceFilters()})
	return errors.Join(errorOf(err), conn.Close())
}
