package master

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sums is a + b and (a + b) * c, and a dequeue that waits.
func sums(t *testing.T) *graph_go_proto.GraphDef {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	number := graph.TypeOf(tensor.Float32)
	var in []graph.Output
	for _, name := range []string{"a", "b", "c"} {
		in = append(in, b.Op("Placeholder", name, number, graph.Attrs{"dtype": tensor.Float32}))
	}
	sum := b.Op("AddV2", "sum", number, graph.Attrs{"T": tensor.Float32}, in[0], in[1])
	b.Op("Mul", "product", number, graph.Attrs{"T": tensor.Float32}, sum, in[2])
	q := b.Op("FIFOQueueV2", "queue", graph.TypeOf(tensor.Resource), graph.Attrs{"shared_name": []byte("lasting"), "component_types": []tensor.DType{tensor.Float32}})
	b.Op("QueueDequeueV2", "wait", number, graph.Attrs{"component_types": []tensor.DType{tensor.Float32}}, q)
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// openReal returns a master whose worker runs graphs, with a session.
func openReal(t *testing.T) (*Master, string) {
	t.Helper()
	w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: "/job:w/replica:0/task:0/device:CPU:0"}}, Parallel: 2})
	m := New(Task{Job: "w"}, real{w.Methods()}, slog.New(slog.DiscardHandler))
	out, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{GraphDef: sums(t)})
	if err != nil {
		t.Fatal(err)
	}
	return m, out.GetSessionHandle()
}

// feed returns the feeds of a step.
func feed(t testing.TB, values map[string]float32) (all []*for_core_protos_go_proto.NamedTensorProto) {
	t.Helper()
	for name, v := range values {
		p, err := graphdef.ToTensorProto(tensor.Scalar(v), true)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &for_core_protos_go_proto.NamedTensorProto{Name: name + ":0", Tensor: p})
	}
	return all
}

func TestPartialRun(t *testing.T) {
	m, session := openReal(t)
	setup, err := m.partialRunSetup(t.Context(), &rpcs.PartialRunSetupRequest{SessionHandle: session, Feed: []string{"a:0", "b:0", "c:0"}, Fetch: []string{"sum:0", "product:0"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		feeds  map[string]float32
		fetch  string
		handle string
		want   float64
		text   string
	}{
		{fetch: "sum:0", handle: "nope", text: "Must run PartialRunSetup before performing partial runs"},
		{feeds: map[string]float32{"a": 1}, fetch: "sum:0", text: "Fetch b:0 can't be computed from the feeds that have been fed so far."},
		{feeds: map[string]float32{"a": 1, "b": 2}, fetch: "sum:0", want: 3},
		{feeds: map[string]float32{"a": 1}, fetch: "product:0", text: "The feed a:0 has already been fed."},
		{fetch: "sum:0", text: "The fetch sum:0 has already been fetched."},
		{fetch: "wait:0", text: "The fetch wait:0 was not specified in partial_run_setup."},
		{feeds: map[string]float32{"c": 5}, fetch: "product:0", want: 15},
		{fetch: "product:0", text: "Must run PartialRunSetup"},
	} {
		handle := setup.GetPartialRunHandle()
		if c.handle != "" {
			handle = c.handle
		}
		out, err := m.runStep(t.Context(), &rpcs.RunStepRequest{SessionHandle: session, PartialRunHandle: handle, Feed: feed(t, c.feeds), Fetch: []string{c.fetch}})
		if c.text != "" {
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, expected %q", err, c.text)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := graphdef.FromTensorProto(out.GetTensor()[0].GetTensor())
		if err != nil || got.Float(0) != c.want {
			t.Errorf("%s: got %v %v, expected %v", c.fetch, got, err, c.want)
		}
	}
	closeSession(t, m, session)
}

func closeSession(t *testing.T, m *Master, session string) {
	t.Helper()
	if _, err := m.closeSession(t.Context(), &rpcs.CloseSessionRequest{SessionHandle: session}); err != nil {
		t.Error(err)
	}
}

// TestPartialRunsAreBounded: partial runs that a client abandons end with its session.
func TestPartialRunsAreBounded(t *testing.T) {
	m, session := openReal(t)
	in := &rpcs.PartialRunSetupRequest{SessionHandle: session, Feed: []string{"a:0", "b:0", "c:0"}, Fetch: []string{"sum:0", "product:0"}}
	for i := range maxPartials {
		setup, err := m.partialRunSetup(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if i%16 == 0 {
			if _, err := m.runStep(t.Context(), &rpcs.RunStepRequest{SessionHandle: session, PartialRunHandle: setup.GetPartialRunHandle(), Feed: feed(t, map[string]float32{"a": 1, "b": 2}), Fetch: []string{"sum:0"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := m.partialRunSetup(t.Context(), in); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more: got %v", err)
	}
	closeSession(t, m, session) // TestMain checks that nothing is left
}

// TestCloseEndsSteps: a step does not outlive its session.
func TestCloseEndsSteps(t *testing.T) {
	m, session := openReal(t)
	s, err := m.session(session)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := m.runStep(t.Context(), &rpcs.RunStepRequest{SessionHandle: session, Fetch: []string{"wait:0"}})
		failed <- err
	}()
	for running := 0; running == 0; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		running = len(s.running)
		s.mu.Unlock()
	}
	closeSession(t, m, session)
	if err := <-failed; status.Code(err) != codes.Canceled || !strings.Contains(err.Error(), "Step was cancelled by an explicit call to `Session::Close()`.") {
		t.Errorf("got %v", err)
	}
}
