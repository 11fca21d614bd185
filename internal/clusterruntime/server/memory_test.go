package server

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const mib = 1 << 20

// keeper is a graph that keeps that many bytes in a variable, or makes and forgets them.
func keeper(t *testing.T, name string, bytes int) *graph_go_proto.GraphDef {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	n, err := tensor.FromSlice([]int32{int32(bytes / 4)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	v := b.Node("VarHandleOp", "v", []graph.Type{{DType: tensor.Resource}}, graph.Attrs{"dtype": tensor.Float32, "shape": graph.ShapeOf(bytes / 4), "shared_name": []byte(name)})
	v.Device = "/job:ps/task:0"
	value := b.Op("Fill", "value", graph.TypeOf(tensor.Float32, bytes/4), graph.Attrs{"T": tensor.Float32, "index_type": tensor.Int32},
		b.Const("n", n), b.Const("one", tensor.Scalar(float32(1))))
	value.Node.Device = v.Device
	keep := b.Node("AssignVariableOp", "keep", nil, graph.Attrs{"dtype": tensor.Float32}, v.Out(0), value)
	keep.Device = v.Device
	b.Node("NoOp", "forget", nil, nil).Control = []*graph.Node{value.Node}
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil || b.Err() != nil {
		t.Fatal(err, b.Err())
	}
	return def
}

func (r *rig) target(session, node string) error {
	_, err := ask[rpcs.RunStepResponse](r, "RunStep", &rpcs.RunStepRequest{SessionHandle: session, Target: []string{node}})
	return err
}

// later runs a node for which there is memory once the collector has found the garbage.
func (r *rig) later(session, node string) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); ; runtime.GC() {
		err := r.target(session, node)
		if err == nil {
			return
		}
		if status.Code(err) != codes.ResourceExhausted || time.Now().After(end) {
			r.t.Fatalf("%s: %v", node, err)
		}
	}
}

func (r *rig) openWith(def *graph_go_proto.GraphDef) string {
	r.t.Helper()
	out, err := ask[rpcs.CreateSessionResponse](r, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: def})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.GetSessionHandle()
}

// TestMemory: values of steps are paid for while they live. Variables outlive their session, and are released by Reset.
func TestMemory(t *testing.T) {
	r := newRigWith(t, budget.Limits{Server: 96 * mib, Request: 64 * mib})
	one := r.openWith(keeper(t, "a", 40*mib))
	for range 10 {
		r.later(one, "forget")
	}
	r.later(one, "keep")
	err := r.target(one, "forget")
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "--"+budget.SessionFlag) {
		t.Errorf("a session with too much: got %v", err)
	}
	r.later(r.openWith(keeper(t, "b", 40*mib)), "keep")
	three := r.openWith(keeper(t, "c", 40*mib))
	err = r.target(three, "keep")
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "--"+budget.ServerFlag) {
		t.Errorf("a server with too much: got %v", err)
	}
	if _, err := ask[rpcs.ResetResponse](r, "Reset", &rpcs.ResetRequest{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); r.servers["ps0"].memory.Used() > mib; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("after Reset: %d bytes are held", r.servers["ps0"].memory.Used())
		}
	}
	r.later(r.openWith(keeper(t, "c", 60*mib)), "keep")
}

// TestMemoryOfFetches: the master's task also pays for its fetches from other tasks.
func TestMemoryOfFetches(t *testing.T) {
	r := newRigWith(t, budget.Limits{Server: 256 * mib, Request: 64 * mib})
	b := graph.NewBuilder(graph.New())
	n, err := tensor.FromSlice([]int32{10 * mib}, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := b.Op("Fill", "one", graph.TypeOf(tensor.Float32, 10*mib), graph.Attrs{"T": tensor.Float32, "index_type": tensor.Int32}, b.Const("n", n), b.Const("value", tensor.Scalar(float32(1))))
	same := b.Op("Identity", "same", one.Type(), graph.Attrs{"T": tensor.Float32}, one)
	one.Node.Device, same.Node.Device = "/job:ps/task:0", "/job:ps/task:0"
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil || b.Err() != nil {
		t.Fatal(err, b.Err())
	}
	session := r.openWith(def)
	_, err = ask[rpcs.RunStepResponse](r, "RunStep", &rpcs.RunStepRequest{SessionHandle: session, Fetch: []string{"one:0", "same:0"}})
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "--"+budget.SessionFlag) {
		t.Errorf("fetches of 80 MiB in a session of 64: got %v", err)
	}
	for end := time.Now().Add(time.Minute); r.servers["worker0"].memory.Used() > mib; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("after the step: %d bytes are held", r.servers["worker0"].memory.Used())
		}
	}
}
