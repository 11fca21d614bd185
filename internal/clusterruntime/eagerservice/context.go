package eagerservice

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxDevices bounds the devices of a context's cluster.
const maxDevices = 1 << 16

// clientContext is a client's state in this task. It is safe for concurrent use.
type clientContext struct {
	id        uint64
	worker    *worker.Worker
	payer     eager.Payer
	own       partition.Device   // default device for ops that name none
	locals    []partition.Device // all devices of this task
	handles   handles
	functions functions
	graphs    cache[*op]
	plans     cache[*plan]
	steps     steps
	elsewhere *elsewhere // refers to nothing in the context, so that the collector finds unused plans

	ctx    context.Context // ends with the context
	cancel context.CancelCauseFunc
	idle   *time.Timer // ends the context; nil if it stays
	alive  time.Duration

	mu      sync.Mutex
	view    uint64
	peers   *peers
	devices []partition.Device
	users   int
	ending  sync.WaitGroup // calls that clean up in other tasks
}

func newContext(config Config, in *rpcs.CreateContextRequest) (*clientContext, error) {
	local, err := devicesOf(config.Devices)
	if err != nil {
		return nil, err
	}
	own := local[0]
	devices, err := devicesOf(in.GetClusterDeviceAttributes())
	if err != nil {
		return nil, err
	}
	if in.GetContextId() == 0 {
		return nil, status.Error(codes.InvalidArgument, "expected a context_id that is not 0")
	}
	if job := in.GetServerDef().GetJobName(); job != own.Name.Job || int(in.GetServerDef().GetTaskIndex()) != own.Name.Task {
		return nil, status.Errorf(codes.InvalidArgument, "this server is task %d of job %q, but the server_def says task %d of job %q: start it with --job_name and --task_id as the client's cluster has it",
			own.Name.Task, own.Name.Job, in.GetServerDef().GetTaskIndex(), job)
	}
	c := &clientContext{id: in.GetContextId(), worker: config.Worker, payer: config.Worker.Payer(), own: own, locals: local, devices: devices, view: in.GetContextViewId(),
		elsewhere: &elsewhere{}, alive: time.Duration(min(in.GetKeepAliveSecs(), maxKeepAlive)) * time.Second}
	c.handles.payer, c.functions.payer = c.payer.Account, c.payer.Account
	c.peers, err = newPeers(config, taskOf(own.Name), in.GetServerDef())
	if err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// deviceOf reads a device.
func deviceOf(a *device_attributes_go_proto.DeviceAttributes) (partition.Device, error) {
	n, err := device.Parse(a.GetName())
	if err != nil {
		return partition.Device{}, status.Error(codes.InvalidArgument, err.Error())
	}
	return partition.Device{Name: n, Incarnation: a.GetIncarnation()}, nil
}

func devicesOf(all []*device_attributes_go_proto.DeviceAttributes) (devices []partition.Device, err error) {
	if len(all) > maxDevices {
		return nil, status.Errorf(codes.ResourceExhausted, "a cluster of %d devices: at most %d are possible", len(all), maxDevices)
	}
	for _, a := range all {
		d, err := deviceOf(a)
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// use prevents the context from expiring until the result is called.
func (c *clientContext) use() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	if c.idle != nil {
		c.idle.Stop()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.users--; c.users == 0 && c.idle != nil && c.ctx.Err() == nil {
			c.idle.Reset(c.alive)
		}
	}
}

func (c *clientContext) viewID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

// cluster returns the present tasks and devices.
func (c *clientContext) cluster() (*peers, []partition.Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peers, c.devices
}

// update changes the tasks of the cluster: one was restarted.
func (c *clientContext) update(in *rpcs.UpdateContextRequest) error {
	devices, err := devicesOf(in.GetClusterDeviceAttributes())
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.GetContextViewId() != c.view+1 {
		return status.Errorf(codes.InvalidArgument, "EagerService:UpdateContext failed. Context id: <%d> currently at view #%d but received update request at view #%d. View id should only be continuously incremented.",
			c.id, c.view, in.GetContextViewId())
	}
	if len(devices) > 0 { // without devices, the change does not concern this task: the server_def is ignored
		peers, err := c.peers.changed(in.GetServerDef())
		if err != nil {
			return err
		}
		c.peers, c.devices = peers, devices
		c.plans.clear()
	}
	c.view++
	return nil
}

// errClosed ends operations in a context that its client closes.
var errClosed = errors.New("the context was closed")

// close ends all operations, and drops all values.
func (c *clientContext) close() {
	c.cancel(status.Error(codes.Aborted, errClosed.Error()))
	c.mu.Lock()
	if c.idle != nil {
		c.idle.Stop()
	}
	peers := c.peers
	c.mu.Unlock()
	c.worker.EndStep(int64(c.id), status.Error(codes.Aborted, errClosed.Error()))
	for id := range c.steps.clear() { // the tasks whose functions these are may find no context to clean up in
		c.worker.EndStep(id, status.Error(codes.Aborted, errClosed.Error()))
	}
	c.handles.clear()
	c.functions.clear()
	c.ending.Wait()
	c.elsewhere.end(c.id, peers)
	peers.close()
}

// bound returns a context for a call that also ends with the client's context.
func (c *clientContext) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// begin reports whether something that close waits for may begin.
func (c *clientContext) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.ending.Add(1)
	return true
}
