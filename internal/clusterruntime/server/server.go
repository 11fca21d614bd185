package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Config says which task a server is.
type Config struct {
	Cluster runconfig.ClusterSpec
	Job     string
	Task    int
	Log     *slog.Logger
	// AllowPaths are the folders where ops of graphs may read and write checkpoints.
	AllowPaths []string
}

// Server is a task of a cluster. It is safe for concurrent use.
type Server struct {
	master  service.Local
	peers   *peers
	folders []*atomicfile.Root
}

// maxMessage is the most bytes of one message: Protocol Buffers cannot be larger.
const maxMessage = 1<<31 - 1

// New returns a server that does not listen yet.
func New(c Config) (*Server, error) {
	if _, ok := c.Cluster.Address(c.Job, c.Task); !ok {
		return nil, fmt.Errorf("task %d of job %q is not in the cluster", c.Task, c.Job)
	}
	cpu, err := processor(c.Job, c.Task)
	if err != nil {
		return nil, err
	}
	p := &peers{cluster: c.Cluster, own: master.Task{Job: c.Job, Index: c.Task}, conns: map[master.Task]*grpc.ClientConn{}}
	s := &Server{peers: p}
	for _, dir := range c.AllowPaths {
		r, err := atomicfile.OpenRoot(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("allowed folder: %w", err), s.Close())
		}
		s.folders = append(s.folders, r)
	}
	w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}, Peers: p, Parallel: runtime.GOMAXPROCS(0), Folders: s.folders})
	p.local = w.Methods()
	s.master = master.New(p.own, p, c.Log).Methods()
	return s, nil
}

// processor describes the CPU of this task. The incarnation is drawn: it tells a task that was started again from its predecessor.
func processor(job string, task int) (*device_attributes_go_proto.DeviceAttributes, error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	memory, _ := hostmemory.Total() // 0: not known
	name := device.Name{Job: job, Replica: 0, Task: task, Type: "CPU", ID: 0}
	return &device_attributes_go_proto.DeviceAttributes{Name: name.String(), DeviceType: "CPU", MemoryLimit: memory,
		Locality: &device_attributes_go_proto.DeviceLocality{}, Incarnation: binary.LittleEndian.Uint64(id[:]) >> 1}, nil
}

// Register adds the services to a server of gRPC.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	service.Register(r, service.Worker, s.peers.local)
	service.Register(r, service.Master, s.master)
}

// Serve answers on a listener until ctx ends, and closes it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	// A client whose machine vanished is noticed within two minutes: its steps end.
	alive := grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second})
	g := grpc.NewServer(alive, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.WaitForHandlers(true))
	s.Register(g)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	err := g.Serve(l)
	g.Stop()
	return cmp.Or(ctx.Err(), err)
}

// Close closes the connections to other tasks and the allowed folders.
func (s *Server) Close() error {
	all := []error{s.peers.close()}
	for _, r := range s.folders {
		all = append(all, r.Close())
	}
	return errors.Join(all...)
}

// peers are the workers of the cluster: the own one, and connections to the others.
type peers struct {
	cluster runconfig.ClusterSpec
	own     master.Task
	local   service.Local

	mu    sync.Mutex
	conns map[master.Task]*grpc.ClientConn
}

// Tasks implements master.Workers.
func (p *peers) Tasks() (all []master.Task) {
	for _, job := range p.cluster.Jobs() {
		for _, i := range p.cluster.Tasks(job) {
			all = append(all, master.Task{Job: job, Index: i})
		}
	}
	return all
}

// Worker implements master.Workers and worker.Peers.
func (p *peers) Worker(job string, task int) (service.Caller, error) {
	t := master.Task{Job: job, Index: task}
	if t == p.own {
		return p.local, nil
	}
	address, ok := p.cluster.Address(job, task)
	if !ok {
		return nil, fmt.Errorf("task %d of job %q is not in the cluster", task, job)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.conns[t]
	if c == nil {
		var err error
		c, err = grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
		if err != nil {
			return nil, err
		}
		p.conns[t] = c
	}
	return service.Remote{Conn: c, Service: service.Worker}, nil
}

func (p *peers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []error
	for _, c := range p.conns {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}
