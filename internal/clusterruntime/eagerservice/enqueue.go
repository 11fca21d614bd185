package eagerservice

import (
	"context"
	"slices"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// enqueue does one item after the other, up to the first that fails.
func (s *Service) enqueue(ctx context.Context, in *rpcs.EnqueueRequest) (*rpcs.EnqueueResponse, error) {
	c, done, err := s.find(in.GetContextId())
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, end := c.bound(ctx)
	defer end()
	out := &rpcs.EnqueueResponse{}
	for _, item := range in.GetQueue() {
		answer, err := c.item(ctx, item)
		if err != nil {
			return nil, worker.StatusOf(err)
		}
		out.QueueResponse = append(out.QueueResponse, answer)
	}
	return out, nil
}

// item does one item.
func (c *clientContext) item(ctx context.Context, in *rpcs.QueueItem) (*rpcs.QueueResponse, error) {
	var err error
	switch x := in.GetItem().(type) {
	case *rpcs.QueueItem_Operation:
		return c.operation(ctx, x.Operation)
	case *rpcs.QueueItem_HandleToDecref:
		err = c.handles.drop(handle{x.HandleToDecref.GetOpId(), x.HandleToDecref.GetOutputNum()})
	case *rpcs.QueueItem_SendTensor:
		err = c.sendTensor(x.SendTensor)
	case *rpcs.QueueItem_SendPackedHandle:
		err = c.sendPacked(x.SendPackedHandle)
	case *rpcs.QueueItem_RegisterFunction:
		err = c.functions.add(x.RegisterFunction.GetFunctionDef(), x.RegisterFunction.GetLibrary(), x.RegisterFunction.GetIsComponentFunction())
	case *rpcs.QueueItem_RemoveFunction:
		err = c.removeFunction(x.RemoveFunction.GetFunctionName())
	case *rpcs.QueueItem_CleanupFunction:
		c.steps.remove(x.CleanupFunction.GetStepId())
		c.worker.EndStep(x.CleanupFunction.GetStepId(), errOver)
	case *rpcs.QueueItem_SyncRemoteExecutorForStream: // everything before it is done
	default:
		err = status.Errorf(codes.InvalidArgument, "expected an item of a known kind, got %v", in)
	}
	return &rpcs.QueueResponse{}, err
}

// removeFunction forgets a function and its plans, since another function may get its name.
func (c *clientContext) removeFunction(name string) error {
	err := c.functions.remove(name)
	c.plans.forget(func(p *plan) bool { return p.calls[name] })
	return err
}

// sendTensor keeps tensors from the client.
func (c *clientContext) sendTensor(in *rpcs.SendTensorOp) error {
	if err := c.owns(in.GetDeviceName()); err != nil {
		return err
	}
	for i, p := range in.GetTensors() {
		t, err := worker.Decode(p, c.payer)
		if err != nil {
			return err
		}
		if err := c.handles.put(handle{in.GetOpId(), int32(i)}, eager.Value{T: t}); err != nil {
			return err
		}
	}
	return nil
}

// owns returns an error for a device of another task.
func (c *clientContext) owns(name string) error {
	n, err := device.Parse(name)
	if err != nil || !slices.ContainsFunc(c.locals, func(d partition.Device) bool { return n.Matches(d.Name) }) {
		return status.Errorf(codes.InvalidArgument, "%s unknown device.", name)
	}
	return nil
}

// sendPacked receives several handles of a variable, one per device, and keeps this task's.
func (c *clientContext) sendPacked(in *rpcs.SendPackedHandleOp) error {
	if len(in.GetHandles()) == 0 {
		return status.Error(codes.InvalidArgument, "Handles should not be empty.")
	}
	for _, h := range in.GetHandles() {
		var v eager.Value
		switch x := h.GetItem().(type) {
		case *rpcs.SendPackedHandleOp_Handle_LocalHandle:
			t, err := worker.Decode(x.LocalHandle.GetTensor(), c.payer)
			if err != nil {
				return err
			}
			v.T = t
		case *rpcs.SendPackedHandleOp_Handle_RemoteHandle:
			if !c.holds(x.RemoteHandle) {
				continue
			}
			var err error
			if v, err = c.handles.get(handle{x.RemoteHandle.GetOpId(), x.RemoteHandle.GetOutputNum()}); err != nil {
				return err
			}
		}
		return c.handles.put(handle{in.GetOpId(), 0}, v)
	}
	return status.Errorf(codes.Unimplemented, "a packed handle without one on %s is not supported", c.own.Name)
}

// holds reports whether a handle belongs to this task.
func (c *clientContext) holds(h *for_core_protos_go_proto.RemoteTensorHandle) bool {
	n, err := device.Parse(placeOf(h))
	return err == nil && taskOf(n) == taskOf(c.own.Name)
}

// placeOf returns the device of a handle's value, or else the device of its op.
func placeOf(h *for_core_protos_go_proto.RemoteTensorHandle) string {
	if h.GetDevice() != "" {
		return h.GetDevice()
	}
	return h.GetOpDevice()
}
