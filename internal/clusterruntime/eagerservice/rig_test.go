package eagerservice

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// contextID is the context of tests.
const contextID = 0xfedcba9876543210

// newTask returns the service of a task that does not listen, and its device.
func newTask(job string) (*Service, service.Local, *device_attributes_go_proto.DeviceAttributes) {
	cpu := &device_attributes_go_proto.DeviceAttributes{Name: task{job, 0}.cpu(), DeviceType: "CPU", Incarnation: 7}
	w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}, Parallel: 2})
	return New(Config{Worker: w, Methods: w.Methods(), Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}}), w.Methods(), cpu
}

// rig is a worker and a parameter server that listen, with a context of one client.
type rig struct {
	t        *testing.T
	services map[string]*Service
	stop     map[string]func()
}

func newRig(t *testing.T) *rig {
	r := &rig{t, map[string]*Service{}, map[string]func(){}}
	cluster := &for_core_protos_go_proto.ClusterDef{}
	var devices []*device_attributes_go_proto.DeviceAttributes
	for _, job := range []string{"worker", "ps"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, methods, cpu := newTask(job)
		direct := transport.NewServer()
		g := grpc.NewServer(append(direct.ServerOptions(nil), grpc.WaitForHandlers(true))...)
		for _, to := range []grpc.ServiceRegistrar{g, direct} {
			service.Register(to, service.Worker, methods)
			service.Register(to, service.Eager, s.Methods())
		}
		go func() { _ = g.Serve(l) }()
		r.services[job] = s
		r.stop[job] = func() {
			direct.Stop()
			g.Stop()
		}
		devices = append(devices, cpu)
		cluster.Job = append(cluster.Job, &for_core_protos_go_proto.JobDef{Name: job, Tasks: map[int32]string{0: l.Addr().String()}})
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			r.stop[job]()
		})
	}
	for job, s := range r.services {
		def := &for_core_protos_go_proto.ServerDef{Cluster: cluster, JobName: job}
		in := &rpcs.CreateContextRequest{ContextId: contextID, ServerDef: def, ClusterDeviceAttributes: devices}
		if _, err := s.createContext(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// becomesDirect waits until a task has connected to others with this project's transport.
func (r *rig) becomesDirect(job string) {
	r.t.Helper()
	c, leave, err := r.services[job].find(contextID)
	if err != nil {
		r.t.Fatal(err)
	}
	defer leave()
	shared := c.peers.shared
	direct := func() bool {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		for _, conn := range shared.all {
			if !conn.Direct() {
				return false
			}
		}
		return len(shared.all) > 0
	}
	for end := time.Now().Add(time.Minute); !direct(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatal("the task's calls go by gRPC")
		}
	}
}

// enqueue sends an item to a task.
func (r *rig) enqueue(job string, item *rpcs.QueueItem) (*rpcs.QueueResponse, error) {
	return enqueue(r.t, r.services[job], item)
}

func enqueue(t *testing.T, s *Service, item *rpcs.QueueItem) (*rpcs.QueueResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := s.enqueue(ctx, &rpcs.EnqueueRequest{ContextId: contextID, Queue: []*rpcs.QueueItem{item}})
	if err != nil {
		return nil, err
	}
	return out.GetQueueResponse()[0], nil
}

// execute is an item that runs an op or a function.
func execute(o *rpcs.Operation) *rpcs.QueueItem {
	return &rpcs.QueueItem{Item: &rpcs.QueueItem_Operation{Operation: o}}
}

// given is an input sent by the client.
func given(t testing.TB, v float32) *rpcs.Operation_Input {
	t.Helper()
	p, err := graphdef.ToTensorProto(tensor.Scalar(v), true)
	if err != nil {
		t.Fatal(err)
	}
	return &rpcs.Operation_Input{Item: &rpcs.Operation_Input_Tensor{Tensor: p}}
}

// kept is an input held by a task.
func kept(job string, op int64, t types_go_proto.DataType) *rpcs.Operation_Input {
	h := &for_core_protos_go_proto.RemoteTensorHandle{OpId: op, Device: task{job, 0}.cpu(), Dtype: t}
	return &rpcs.Operation_Input{Item: &rpcs.Operation_Input_RemoteHandle{RemoteHandle: h}}
}

func typeAttr(t types_go_proto.DataType) *attr_value_go_proto.AttrValue {
	return &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: t}}
}

type attrs = map[string]*attr_value_go_proto.AttrValue

// number is the only value of an answer with one tensor.
func number(t *testing.T, out *rpcs.QueueResponse, err error) float32 {
	t.Helper()
	if err != nil || len(out.GetTensor()) != 1 {
		t.Fatalf("got %v, %v", out, err)
	}
	v, err := graphdef.FromTensorProto(out.GetTensor()[0])
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Values[float32](v)[0]
}

// wants fails unless an error has the given code and text.
func wants(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, expected %v with %q", err, code, text)
	}
}

// addAndDouble is a function of a variable v and a number x: v += x; its results are 2v and v itself.
func addAndDouble() *rpcs.QueueItem {
	float, resource := types_go_proto.DataType_DT_FLOAT, types_go_proto.DataType_DT_RESOURCE
	arg := func(name string, t types_go_proto.DataType) *op_def_go_proto.OpDef_ArgDef {
		return &op_def_go_proto.OpDef_ArgDef{Name: name, Type: t}
	}
	node := func(name, op string, a attrs, inputs ...string) *node_def_go_proto.NodeDef {
		return &node_def_go_proto.NodeDef{Name: name, Op: op, Attr: a, Input: inputs}
	}
	def := &function_go_proto.FunctionDef{
		Signature: &op_def_go_proto.OpDef{Name: "f", InputArg: []*op_def_go_proto.OpDef_ArgDef{arg("v", resource), arg("x", float)},
			OutputArg: []*op_def_go_proto.OpDef_ArgDef{arg("twice", float), arg("same", resource)}, ControlOutput: []string{"add"}},
		NodeDef: []*node_def_go_proto.NodeDef{
			node("add", "AssignAddVariableOp", attrs{"dtype": typeAttr(float)}, "v", "x"),
			node("read", "ReadVariableOp", attrs{"dtype": typeAttr(float)}, "v", "^add"),
			node("double", "AddV2", attrs{"T": typeAttr(float)}, "read:value:0", "read:value:0"),
		},
		Ret: map[string]string{"twice": "double:z:0", "same": "v"}, ControlRet: map[string]string{"add": "add"},
	}
	return &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: &rpcs.RegisterFunctionOp{FunctionDef: def}}}
}

// variable makes a variable with a value, as output 0 of op id.
func variable(t *testing.T, do func(*rpcs.QueueItem) (*rpcs.QueueResponse, error), job string, id int64, v float32) {
	t.Helper()
	name := &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_S{S: []byte("cd2c89b7-88b7-44c8-ad83-06c2a9158347")}}
	float := typeAttr(types_go_proto.DataType_DT_FLOAT)
	_, err := do(execute(&rpcs.Operation{Id: id, Name: "VarHandleOp", Attrs: attrs{"dtype": float, "shared_name": name}}))
	_, err2 := do(execute(&rpcs.Operation{Id: id + 1, Name: "AssignVariableOp", Attrs: attrs{"dtype": float},
		OpInputs: []*rpcs.Operation_Input{kept(job, id, types_go_proto.DataType_DT_RESOURCE), given(t, v)}}))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
}
