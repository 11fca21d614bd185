package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/calls"
	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/eagerservice"
	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Config configures a server.
type Config struct {
	Cluster runconfig.ClusterSpec
	Job     string
	Task    int
	CPUs    int // how many CPU devices the task has; 0: one
	Log     *slog.Logger
	// AllowPaths are the folders in which ops of graphs may read and write checkpoints.
	AllowPaths []string
	// Security secures the connections between tasks.
	Security Security
	// Memory bounds the memory of the server and of each session: see [budget.Limits].
	Memory budget.Limits
	// Ended is called after each call; may be nil.
	Ended func(calls.Call)
	// Drain is how long running steps may take when the server shuts down; 0: 10 seconds.
	Drain time.Duration
	// Forget is how long a master may be silent before its sessions in this task are removed; 0: 10 minutes.
	Forget time.Duration
}

// Security says how the tasks of a cluster trust each other. The zero value means plaintext, open to everybody.
type Security struct {
	Serve, Dial credentials.TransportCredentials // nil: plaintext
	Token       string                           // that callers send; "": none
}

// Server is a task of a cluster. It is safe for concurrent use.
type Server struct {
	config   Config
	master   service.Local
	worker   *worker.Worker
	eager    *eagerservice.Service
	peers    *peers
	folders  []*atomicfile.Root
	memory   *budget.Server
	calls    *calls.Calls
	started  time.Time
	describe []func(*status.State)
	open     func() int        // sessions and graphs
	clients  *admission.Places // connections
}

// New returns a server that does not listen yet.
func New(c Config) (*Server, error) {
	if _, ok := c.Cluster.Address(c.Job, c.Task); !ok {
		return nil, fmt.Errorf("task %d of job %q is not in the cluster", c.Task, c.Job)
	}
	cpus, err := processors(c.Job, c.Task, max(c.CPUs, 1))
	if err != nil {
		return nil, err
	}
	p, memory := newPeers(c), budget.NewServer(c.Memory)
	s := &Server{config: c, started: time.Now(), peers: p, memory: memory, clients: admission.NewPlaces(maxConnections, c.Log), calls: calls.New(calls.Options{Task: p.own.String(), Token: c.Security.Token, Memory: memory, Codec: codec.Codec{}, Ended: c.Ended})}
	for _, dir := range c.AllowPaths {
		r, err := atomicfile.OpenRoot(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("allowed folder: %w", err), s.Close())
		}
		s.folders = append(s.folders, r)
	}
	w := worker.New(worker.Config{Devices: cpus, Peers: p, Parallel: runtime.GOMAXPROCS(0), Folders: s.folders, Memory: memory, Join: p.forWorker, Forget: c.Forget})
	s.worker, p.local = w, w.Methods()
	m := master.New(p.own, p, c.Log).PaidBy(memory).Joining(p.forMaster)
	s.describe = []func(*status.State){w.Describe, m.Describe}
	s.eager = eagerservice.New(eagerservice.Config{Worker: w, Methods: p.local, Devices: cpus, Dial: p.shared.options})
	s.master, s.open = m.Methods(), func() int { return m.Sessions() + w.Graphs() + s.eager.Contexts() }
	return s, nil
}

// processors describes the CPU devices of this task, which share its processors and memory. The incarnations are random, to
// distinguish a restarted task from its predecessor.
func processors(job string, task, n int) (all []*device_attributes_go_proto.DeviceAttributes, err error) {
	memory, _ := hostmemory.Total() // 0: unknown
	for i := range n {
		var id [8]byte
		if _, err := rand.Read(id[:]); err != nil {
			return nil, err
		}
		name := device.Name{Job: job, Replica: 0, Task: task, Type: "CPU", ID: i}
		all = append(all, &device_attributes_go_proto.DeviceAttributes{Name: name.String(), DeviceType: "CPU", MemoryLimit: memory,
			Locality: &device_attributes_go_proto.DeviceLocality{}, Incarnation: binary.LittleEndian.Uint64(id[:]) >> 1})
	}
	return all, nil
}

// Register adds the services to a server of gRPC.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	r = s.calls.Through(r)
	service.Register(r, service.Worker, s.peers.local)
	service.Register(r, service.Master, s.master)
	service.Register(r, service.Eager, s.eager.Methods())
}

// Close closes the connections to other tasks and the allowed folders.
func (s *Server) Close() error {
	s.memory.Close()
	if s.worker != nil {
		s.worker.Close()
	}
	all := []error{s.peers.shared.end()}
	if s.eager != nil {
		all = append(all, s.eager.Close())
	}
	for _, r := range s.folders {
		all = append(all, r.Close())
	}
	return errors.Join(all...)
}
