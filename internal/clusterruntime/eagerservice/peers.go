package eagerservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// maxTasks bounds the tasks of a context's cluster.
const maxTasks = 1 << 14

// task is a task of the client's cluster.
type task struct {
	job   string
	index int
}

func taskOf(n device.Name) task { return task{n.Job, n.Task} }

func (t task) String() string { return fmt.Sprintf("/job:%s/replica:0/task:%d", t.job, t.index) }

// cpu is the name of the processor of a task.
func (t task) cpu() string { return t.String() + "/device:CPU:0" }

// peers are the tasks of a client's cluster: this task, and connections to the others, which contexts before and after an update share.
type peers struct {
	own       task
	local     service.Local
	addresses map[task]string
	shared    *connections
}

// connections are connections by address.
type connections struct {
	options transport.Options

	mu     sync.Mutex
	closed bool
	all    map[string]*transport.Conn
}

func newPeers(c Config, own task, def *for_core_protos_go_proto.ServerDef) (*peers, error) {
	options := c.Dial
	options.Credentials = cmp.Or[credentials.TransportCredentials](options.Credentials, insecure.NewCredentials())
	options.GRPC = append([]grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32))}, options.GRPC...)
	p := &peers{own: own, local: c.Methods, shared: &connections{options: options, all: map[string]*transport.Conn{}}}
	return p.changed(def)
}

// changed returns the peers in another cluster.
func (p *peers) changed(def *for_core_protos_go_proto.ServerDef) (*peers, error) {
	to := &peers{own: p.own, local: p.local, addresses: map[task]string{}, shared: p.shared}
	for _, job := range def.GetCluster().GetJob() {
		for index, address := range job.GetTasks() {
			if len(to.addresses) >= maxTasks {
				return nil, status.Errorf(codes.ResourceExhausted, "a cluster of more than %d tasks", maxTasks)
			}
			to.addresses[task{job.GetName(), int(index)}] = address
		}
	}
	p.shared.retry()
	return to, nil
}

// Worker implements worker.Peers.
func (p *peers) Worker(job string, index int) (service.Caller, error) {
	if t := (task{job, index}); t != p.own {
		return p.remote(t, service.Worker)
	}
	return p.local, nil
}

// eager returns the EagerService of another task.
func (p *peers) eager(t task) (service.Caller, error) { return p.remote(t, service.Eager) }

func (p *peers) remote(t task, name string) (service.Caller, error) {
	address, ok := p.addresses[t]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "%s unknown device.", t.cpu())
	}
	conn, err := p.shared.to(address)
	if err != nil {
		return nil, err
	}
	return remote{service.Remote{Conn: conn, Service: name}, t}, nil
}

func (p *peers) close() { p.shared.close() }

// to returns the connection to an address.
func (c *connections) to(address string) (*transport.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, status.Error(codes.Aborted, errClosed.Error())
	}
	if conn := c.all[address]; conn != nil {
		return conn, nil
	}
	conn, err := transport.NewConn(address, c.options)
	if err == nil {
		c.all[address] = conn
	}
	return conn, err
}

// retry reconnects to lost tasks.
func (c *connections) retry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		conn.ResetConnectBackoff()
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.all {
		_ = conn.Close() // it fails only if it is closed already
	}
}

// remote is a service of another task. Its errors name the task, in TensorFlow's words: from them a coordinator can tell whether a
// parameter server or a worker was lost.
type remote struct {
	service.Remote
	task task
}

// Call implements service.Caller.
func (r remote) Call(ctx context.Context, method string, in, out proto.Message) (proto.Message, error) {
	answer, err := r.Remote.Call(ctx, method, in, out)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return nil, cause
	}
	s := status.Convert(err)
	return nil, status.Errorf(s.Code(), "%s\nAdditional GRPC error information from remote target %s while calling /%s/%s:\n:%s", s.Message(), r.task, r.Service, method, s.Message())
}
