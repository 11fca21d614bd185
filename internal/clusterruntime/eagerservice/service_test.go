package eagerservice

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

const float = types_go_proto.DataType_DT_FLOAT

// TestOps: outputs are returned in the answer, or stay until they are dropped.
func TestOps(t *testing.T) {
	r := newRig(t)
	add := func(id int64, in ...*rpcs.Operation_Input) (*rpcs.QueueResponse, error) {
		return r.enqueue("worker", execute(&rpcs.Operation{Id: id, Name: "AddV2", Attrs: attrs{"T": typeAttr(float)}, OpInputs: in}))
	}
	out, err := add(invalidID, given(t, 1), given(t, 2))
	if got := number(t, out, err); got != 3 {
		t.Errorf("got %v, expected 3", got)
	}
	out, err = add(5, given(t, 4), given(t, 2))
	if err != nil || len(out.GetShape()) != 1 || len(out.GetTensor()) != 0 {
		t.Errorf("an output that stays: got %v, %v", out, err)
	}
	out, err = add(invalidID, kept("worker", 5, float), given(t, 2))
	if got := number(t, out, err); got != 8 {
		t.Errorf("got %v, expected 8", got)
	}
	drop := &rpcs.QueueItem{Item: &rpcs.QueueItem_HandleToDecref{HandleToDecref: &for_core_protos_go_proto.RemoteTensorHandle{OpId: 5}}}
	if _, err := r.enqueue("worker", drop); err != nil {
		t.Error(err)
	}
	const lost = "Unable to find the relevant tensor remote_handle: Op ID: 5, Output num: 0"
	_, err = r.enqueue("worker", drop)
	wants(t, err, codes.InvalidArgument, lost)
	_, err = add(6, kept("worker", 5, float), given(t, 2))
	wants(t, err, codes.InvalidArgument, lost)
	_, err = r.enqueue("worker", execute(&rpcs.Operation{Id: 7, Name: "NoSuchOp"}))
	wants(t, err, codes.Unimplemented, "NoSuchOp")
	_, err = r.enqueue("worker", execute(&rpcs.Operation{Id: 7, Name: "nothing", IsFunction: true}))
	wants(t, err, codes.NotFound, "'nothing' is neither a type of a primitive operation nor a name of a function registered in binary running on")
	_, err = r.enqueue("worker", execute(&rpcs.Operation{Id: 7, Name: "NoOp", Device: "/job:ps/replica:0/task:0/device:CPU:0"}))
	wants(t, err, codes.InvalidArgument, "unknown device")
	_, err = r.enqueue("worker", &rpcs.QueueItem{})
	wants(t, err, codes.InvalidArgument, "known kind")
}

// TestSentTensors: a tensor from the client is an input like an op's output, even for another task's op through the rendezvous.
func TestSentTensors(t *testing.T) {
	r := newRig(t)
	send := &rpcs.SendTensorOp{OpId: 3, DeviceName: task{"ps", 0}.cpu()}
	send.Tensors = append(send.Tensors, given(t, 6).GetTensor())
	if _, err := r.enqueue("ps", &rpcs.QueueItem{Item: &rpcs.QueueItem_SendTensor{SendTensor: send}}); err != nil {
		t.Fatal(err)
	}
	text := func(s string) *attr_value_go_proto.AttrValue {
		return &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_S{S: []byte(s)}}
	}
	link := attrs{"tensor_name": text("3:0"), "send_device": text(task{"ps", 0}.cpu()), "recv_device": text(task{"worker", 0}.cpu()),
		"send_device_incarnation": {Value: &attr_value_go_proto.AttrValue_I{I: 7}}, "T": typeAttr(float), "tensor_type": typeAttr(float)}
	if _, err := r.enqueue("ps", execute(&rpcs.Operation{Id: 4, Name: "_Send", Attrs: link, OpInputs: []*rpcs.Operation_Input{kept("ps", 3, float)}})); err != nil {
		t.Fatal(err)
	}
	out, err := r.enqueue("worker", execute(&rpcs.Operation{Id: invalidID, Name: "_Recv", Attrs: link}))
	if got := number(t, out, err); got != 6 {
		t.Errorf("got %v, expected 6", got)
	}
}

// TestContexts: contexts follow TensorFlow's rules for views, texts and codes.
func TestContexts(t *testing.T) {
	s, _, cpu := newTask("worker")
	defer func() { _ = s.Close() }()
	in := &rpcs.CreateContextRequest{ContextId: contextID, ContextViewId: 2, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}}
	create := func(view uint64) error {
		in := proto.Clone(in).(*rpcs.CreateContextRequest)
		in.ContextViewId = view
		_, err := s.createContext(t.Context(), in)
		return err
	}
	for _, view := range []uint64{2, 2, 3} { // a task that was lost and found again
		if err := create(view); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, create(1), codes.InvalidArgument, "EagerService:CreateContext failed. Context id: <18364758544493064720> already exists.")
	update := func(view uint64) error {
		_, err := s.updateContext(t.Context(), &rpcs.UpdateContextRequest{ContextId: contextID, ContextViewId: view, ClusterDeviceAttributes: []*device_attributes_go_proto.DeviceAttributes{cpu}})
		return err
	}
	wants(t, update(3), codes.InvalidArgument, "currently at view #3 but received update request at view #3. View id should only be continuously incremented.")
	if err := update(4); err != nil {
		t.Error(err)
	}
	if out, err := s.keepAlive(t.Context(), &rpcs.KeepAliveRequest{ContextId: contextID}); err != nil || out.GetContextViewId() != 4 {
		t.Errorf("got %v, %v, expected view 4", out, err)
	}
	_, err := s.waitQueueDone(t.Context(), &rpcs.WaitQueueDoneRequest{ContextId: contextID, OpId: []int64{1}})
	wants(t, err, codes.Unimplemented, "not implemented for particular op IDs")
	for _, view := range []uint64{3, 4, 4} { // the first is from before the update
		if _, err := s.keepAlive(t.Context(), &rpcs.KeepAliveRequest{ContextId: contextID}); (err == nil) != (view == 3 || len(s.contexts) == 1) {
			t.Errorf("view %d: got %v", view, err)
		}
		if _, err := s.closeContext(t.Context(), &rpcs.CloseContextRequest{ContextId: contextID, ContextViewId: view}); err != nil {
			t.Error(err)
		}
	}
	_, err = enqueue(t, s, execute(&rpcs.Operation{Name: "NoOp"}))
	wants(t, err, codes.Aborted, "Unable to find a context_id matching the specified one (18364758544493064720). Perhaps the worker was restarted, or the context was GC'd?")
	in.ServerDef.JobName = "chief"
	wants(t, create(0), codes.InvalidArgument, `this server is task 0 of job "worker"`)
}

// TestClientsThatVanish: a context ends when its client is silent for too long, and not before.
func TestClientsThatVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newTask("worker")
		in := &rpcs.CreateContextRequest{ContextId: contextID, KeepAliveSecs: 10, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}}
		if _, err := s.createContext(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(9 * time.Second)
			if _, err := s.keepAlive(t.Context(), &rpcs.KeepAliveRequest{ContextId: contextID}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(11 * time.Second)
		_, err := s.keepAlive(t.Context(), &rpcs.KeepAliveRequest{ContextId: contextID})
		wants(t, err, codes.Aborted, "Perhaps the worker was restarted")
	})
}

// TestBounds: a client's state is bounded.
func TestBounds(t *testing.T) {
	s, _, _ := newTask("worker")
	defer func() { _ = s.Close() }()
	var err error
	for i := range uint64(maxContexts + 1) {
		in := &rpcs.CreateContextRequest{ContextId: contextID - i, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}}
		if _, err = s.createContext(context.Background(), in); err != nil {
			break
		}
	}
	wants(t, err, codes.ResourceExhausted, "the server has 1024 contexts")
	c := s.contexts[contextID]
	c.handles.bytes = maxHeld
	noop := func(id int64) error {
		_, err := enqueue(t, s, execute(&rpcs.Operation{Id: id, Name: "Identity", Attrs: attrs{"T": typeAttr(float)}, OpInputs: []*rpcs.Operation_Input{given(t, 1)}}))
		return err
	}
	wants(t, noop(1), codes.ResourceExhausted, "at most 4294967296 are possible")
	c.handles.bytes = 0
	if err := noop(1); err != nil {
		t.Error(err)
	}
	c.handles.bytes = maxHeld
	if err := noop(1); err != nil { // it replaces another one of its size
		t.Error(err)
	}
	c.functions.bytes = maxFunctionBytes
	_, err = enqueue(t, s, addAndDouble())
	wants(t, err, codes.ResourceExhausted, "at most 65536 with 1073741824 bytes")
	devices := make([]*device_attributes_go_proto.DeviceAttributes, maxDevices+1)
	_, err = s.updateContext(t.Context(), &rpcs.UpdateContextRequest{ContextId: contextID, ContextViewId: 1, ClusterDeviceAttributes: devices})
	wants(t, err, codes.ResourceExhausted, "devices")
}
