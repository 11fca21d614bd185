package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a cluster of a worker and two parameter servers.
type rig struct {
	t      *testing.T
	spec   runconfig.ClusterSpec
	stop   map[string]func()
	master service.Caller

	servers map[string]*Server
	memory  budget.Limits
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, budget.Limits{})
}

// newRigWith is newRig with limits on the memory of each task.
func newRigWith(t *testing.T, memory budget.Limits) *rig {
	t.Helper()
	ports, err := freeport.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string][]string{"worker": {ports.Address(0)}, "ps": {ports.Address(1), ports.Address(2)}}
	r := &rig{t: t, spec: runconfig.NewClusterSpec(jobs), stop: map[string]func(){}, servers: map[string]*Server{}, memory: memory}
	for _, task := range []string{"ps0", "ps1", "worker0"} {
		r.start(task)
	}
	conn, err := grpc.NewClient("passthrough:///"+jobs["worker"][0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		for _, stop := range r.stop {
			stop()
		}
		if err := ports.Close(); err != nil {
			t.Error(err)
		}
	})
	r.master = service.Remote{Conn: conn, Service: service.Master}
	return r
}

// start starts or restarts a task.
func (r *rig) start(task string) {
	r.t.Helper()
	job, index := task[:len(task)-1], int(task[len(task)-1]-'0')
	s, err := New(Config{Cluster: r.spec, Job: job, Task: index, Log: slog.New(slog.DiscardHandler), Memory: r.memory})
	if err != nil {
		r.t.Fatal(err)
	}
	r.servers[task] = s
	address, _ := r.spec.Address(job, index)
	l, err := net.Listen("tcp", address)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- errors.Join(s.Serve(ctx, l), s.Close()) }()
	r.stop[task] = func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			r.t.Errorf("%s: %v", task, err)
		}
		delete(r.stop, task)
	}
}

// ask calls the master.
func ask[R any, Out interface {
	*R
	proto.Message
}](r *rig, method string, in proto.Message) (Out, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	return service.Ask[R, Out](ctx, r.master, method, in)
}

// counter is a graph with a variable on each ps, and a step that adds the fed value to both and returns their product.
func counter(t *testing.T) *graph_go_proto.GraphDef {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	scalar := graph.TypeOf(tensor.Float32)
	x := b.Op("Placeholder", "x", scalar, graph.Attrs{"dtype": tensor.Float32})
	zero := b.Const("zero", tensor.Scalar(float32(0)))
	init := b.Node("NoOp", "init", nil, nil)
	var added []graph.Output
	for _, task := range []string{"0", "1"} {
		attrs := graph.Attrs{"dtype": tensor.Float32, "shape": graph.ShapeOf(), "shared_name": []byte("v" + task)}
		v := b.Node("VarHandleOp", "v"+task, []graph.Type{{DType: tensor.Resource}}, attrs)
		v.Device = "/job:ps/task:" + task
		init.Control = append(init.Control, b.Node("AssignVariableOp", "init"+task, nil, graph.Attrs{"dtype": tensor.Float32}, v.Out(0), zero))
		add := b.Node("AssignAddVariableOp", "add"+task, nil, graph.Attrs{"dtype": tensor.Float32}, v.Out(0), x)
		read := b.Node("ReadVariableOp", "read"+task, []graph.Type{scalar}, graph.Attrs{"dtype": tensor.Float32}, v.Out(0))
		read.Control = []*graph.Node{add}
		added = append(added, read.Out(0))
	}
	b.Op("Mul", "y", scalar, graph.Attrs{"T": tensor.Float32}, added...)
	def, err := graphdef.ToGraphDef(b.Graph)
	if err = errors.Join(err, b.Err()); err != nil {
		t.Fatal(err)
	}
	return def
}

func number(t *testing.T, v float32) *tensor_go_proto.TensorProto {
	t.Helper()
	p, err := graphdef.ToTensorProto(tensor.Scalar(v), true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// step runs a step that feeds x and fetches y.
func (r *rig) step(session string, x float32) (float64, error) {
	out, err := ask[rpcs.RunStepResponse](r, "RunStep", &rpcs.RunStepRequest{SessionHandle: session, Fetch: []string{"y:0"},
		Feed: []*for_core_protos_go_proto.NamedTensorProto{{Name: "x:0", Tensor: number(r.t, x)}}})
	if err != nil {
		return 0, err
	}
	y, err := graphdef.FromTensorProto(out.GetTensor()[0].GetTensor())
	if err != nil {
		return 0, err
	}
	return y.Float(0), nil
}

// open opens a session with the counter.
func (r *rig) open() string {
	r.t.Helper()
	out, err := ask[rpcs.CreateSessionResponse](r, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: counter(r.t)})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.GetSessionHandle()
}

func (r *rig) init(session string) {
	r.t.Helper()
	if _, err := ask[rpcs.RunStepResponse](r, "RunStep", &rpcs.RunStepRequest{SessionHandle: session, Target: []string{"init"}}); err != nil {
		r.t.Fatal(err)
	}
}

// TestSessionsShareVariables: variables stay from one session to the next, until they are reset.
func TestSessionsShareVariables(t *testing.T) {
	r := newRig(t)
	session := r.open()
	if _, err := r.step(session, 2); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before the initialization: got %v", err)
	}
	r.init(session)
	for i, want := range []float64{4, 16, 36} {
		if y, err := r.step(session, 2); err != nil || y != want {
			t.Errorf("step %d: got %v, %v, expected %v", i, y, err, want)
		}
	}
	if _, err := ask[rpcs.CloseSessionResponse](r, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: session}); err != nil {
		t.Error(err)
	}
	if _, err := r.step(session, 2); status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "is not found. Possibly, this master has restarted.") {
		t.Errorf("a closed session: got %v", err)
	}
	session = r.open()
	if y, err := r.step(session, 2); err != nil || y != 64 {
		t.Errorf("the next session: got %v, %v, expected 64", y, err)
	}
	if _, err := ask[rpcs.ResetResponse](r, "Reset", &rpcs.ResetRequest{}); err != nil {
		t.Error(err)
	}
	session = r.open()
	if _, err := r.step(session, 2); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("after a reset: got %v", err)
	}
}

func TestCallablesAndVersions(t *testing.T) {
	r := newRig(t)
	session := r.open()
	r.init(session)
	made, err := ask[rpcs.MakeCallableResponse](r, "MakeCallable", &rpcs.MakeCallableRequest{SessionHandle: session,
		Options: &for_core_protos_go_proto.CallableOptions{Feed: []string{"x:0"}, Fetch: []string{"y:0", "x:0"}}})
	if err != nil {
		t.Fatal(err)
	}
	run := &rpcs.RunCallableRequest{SessionHandle: session, Handle: made.GetHandle(), Feed: []*tensor_go_proto.TensorProto{number(t, 3)}}
	out, err := ask[rpcs.RunCallableResponse](r, "RunCallable", run)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{9, 3} {
		if v, err := graphdef.FromTensorProto(out.GetFetch()[i]); err != nil || v.Float(0) != want {
			t.Errorf("fetch %d: got %v, %v, expected %v", i, v, err, want)
		}
	}
	run.Feed = nil
	if _, err := ask[rpcs.RunCallableResponse](r, "RunCallable", run); status.Code(err) != codes.InvalidArgument {
		t.Errorf("without its feed: got %v", err)
	}
	if _, err := ask[rpcs.ReleaseCallableResponse](r, "ReleaseCallable", &rpcs.ReleaseCallableRequest{SessionHandle: session, Handle: made.GetHandle()}); err != nil {
		t.Error(err)
	}
	if _, err := ask[rpcs.RunCallableResponse](r, "RunCallable", run); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a released callable: got %v", err)
	}

	more := &graph_go_proto.GraphDef{Node: counter(t).GetNode()[:2]}
	for i, n := range more.Node {
		n.Name = fmt.Sprint("more", i)
	}
	extended, err := ask[rpcs.ExtendSessionResponse](r, "ExtendSession", &rpcs.ExtendSessionRequest{SessionHandle: session, GraphDef: more, CurrentGraphVersion: 1})
	if err != nil || extended.GetNewGraphVersion() != 2 {
		t.Errorf("got %v, %v, expected version 2", extended, err)
	}
	if _, err := ask[rpcs.ExtendSessionResponse](r, "ExtendSession", &rpcs.ExtendSessionRequest{SessionHandle: session, GraphDef: more, CurrentGraphVersion: 1}); status.Code(err) != codes.Aborted {
		t.Errorf("an old version: got %v", err)
	}
	if _, err := ask[rpcs.ExtendSessionResponse](r, "ExtendSession", &rpcs.ExtendSessionRequest{SessionHandle: session, GraphDef: more, CurrentGraphVersion: 2}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the same nodes: got %v", err)
	}
}

func TestDevices(t *testing.T) {
	r := newRig(t)
	out, err := ask[rpcs.ListDevicesResponse](r, "ListDevices", &rpcs.ListDevicesRequest{})
	if err != nil || len(out.GetLocalDevice()) != 1 || len(out.GetRemoteDevice()) != 2 {
		t.Fatalf("got %v, %v", out, err)
	}
	if got := out.GetLocalDevice()[0]; got.GetName() != "/job:worker/replica:0/task:0/device:CPU:0" || got.GetIncarnation() == 0 || got.GetDeviceType() != "CPU" {
		t.Errorf("got %v", got)
	}
	in := &rpcs.CreateSessionRequest{GraphDef: counter(t), Config: &for_core_protos_go_proto.ConfigProto{DeviceFilters: []string{"/job:ps/task:1"}}}
	session, err := ask[rpcs.CreateSessionResponse](r, "CreateSession", in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.step(session.GetSessionHandle(), 1); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "/job:ps/task:0") {
		t.Errorf("a task that is filtered out: got %v", err)
	}
}

// TestWorkerRestarts: the session of a lost worker ends with the codes after which TensorFlow's clients open a new one.
func TestWorkerRestarts(t *testing.T) {
	r := newRig(t)
	session := r.open()
	r.init(session)
	if _, err := r.step(session, 1); err != nil {
		t.Fatal(err)
	}
	r.stop["ps1"]()
	if _, err := r.step(session, 1); status.Code(err) != codes.Unavailable {
		t.Errorf("a lost worker: got %v", err)
	}
	r.start("ps1")
	for deadline := time.Now().Add(time.Minute); ; { // until the connection is back
		_, err := r.step(session, 1)
		if code := status.Code(err); code == codes.Aborted {
			break
		} else if code != codes.Unavailable || time.Now().After(deadline) {
			t.Fatalf("a worker that was started again: got %v", err)
		}
	}
	session = r.open()
	r.init(session)
	if y, err := r.step(session, 5); err != nil || y != 25 {
		t.Errorf("a new session: got %v, %v, expected 25", y, err)
	}
}
