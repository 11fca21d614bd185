package worker

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestHandlesOfRestartedWorkers: a session from before a restart must not run a graph of another session.
func TestHandlesOfRestartedWorkers(t *testing.T) {
	def := negate(t, link("0", "0", "x:0"), link("0", "0", "y:0"))
	if a, b := register(t, newPair()[0], def), register(t, newPair()[0], def); a == b {
		t.Errorf("both workers gave the handle %s", a)
	}
}

func TestStepsAreBounded(t *testing.T) {
	w := newPair()[0]
	from, to := link("0", "0", "x:0"), link("0", "0", "y:0")
	in := &rpcs.RunGraphRequest{GraphHandle: register(t, w, negate(t, from, to)), Send: value(t, from, 1)}
	for in.StepId = range int64(maxSteps + 100) { // never cleaned up
		if _, err := w.runGraph(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.steps) != maxSteps {
		t.Errorf("%d steps are there, expected %d", len(w.steps), maxSteps)
	}
	for _, s := range w.steps {
		s.users++
	}
	if _, err := w.runGraph(t.Context(), in); status.Code(err) != codes.OK && !strings.Contains(err.Error(), "16384 steps run") {
		t.Errorf("a step that is there: got %v", err)
	}
	in.StepId = -1
	if _, err := w.runGraph(t.Context(), in); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more step: got %v", err)
	}
}

func TestRefusals(t *testing.T) {
	w := newPair()[0]
	from, to := link("0", "0", "x:0"), link("0", "0", "y:0")
	handle := register(t, w, negate(t, from, to))
	_, err := w.runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: handle, Send: value(t, from, 1), RecvKey: []string{"other"}})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `sent nothing as "other"`) {
		t.Errorf("a fetch that the graph does not send: got %v", err)
	}
	w.waiting.Store(maxWaiting)
	if _, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{RendezvousKey: to.String()}); status.Code(err) != codes.ResourceExhausted || w.waiting.Load() != maxWaiting {
		t.Errorf("one more call that waits: got %v", err)
	}
	has := w.bytes
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.registerGraph(ctx, &rpcs.RegisterGraphRequest{GraphDef: negate(t, from, to)}); status.Code(err) != codes.Canceled || w.bytes != has || len(w.graphs) != 1 {
		t.Errorf("a graph of a caller that is gone: got %v, %d graphs with %d bytes", err, len(w.graphs), w.bytes)
	}
	w.bytes = maxGraphs
	if _, err := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{GraphDef: negate(t, from, to)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more graph: got %v", err)
	}
	w.bytes = has
	if _, err := w.deregisterGraph(t.Context(), &rpcs.DeregisterGraphRequest{GraphHandle: handle}); err != nil || w.bytes != 0 {
		t.Errorf("got %v, %d bytes are left", err, w.bytes)
	}
}

// Empty graphs are paid for, too, since a stranger could register any number of them.
func TestSmallGraphsArePaidFor(t *testing.T) {
	const most = 1 << 20
	w := New(Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: cpu("0"), Incarnation: 1}}, Peers: &pair{}, Memory: budget.NewServer(budget.Limits{Server: most})})
	n := 0
	for ; ; n++ {
		_, err := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{SessionHandle: strconv.Itoa(n), GraphDef: &graph_go_proto.GraphDef{}})
		if status.Code(err) == codes.ResourceExhausted {
			break
		}
		if err != nil || n > most/leastGraph {
			t.Fatalf("after %d graphs: got %v", n, err)
		}
	}
	if n < most/leastGraph/graphCost/2 {
		t.Errorf("after %d graphs there was no memory", n)
	}
	for handle := range w.graphs {
		if _, err := w.deregisterGraph(t.Context(), &rpcs.DeregisterGraphRequest{GraphHandle: handle}); err != nil {
			t.Fatal(err)
		}
	}
	if w.bytes != 0 || len(w.accounts) != 0 {
		t.Errorf("without graphs: %d bytes, %d accounts", w.bytes, len(w.accounts))
	}
}

// Names that are kept with a session, or after it, are bounded.
func TestNamesAreBounded(t *testing.T) {
	w := newPair()[0]
	most := strings.Repeat("x", maxName)
	for name, want := range map[string]codes.Code{most: codes.OK, most + "x": codes.InvalidArgument} {
		_, registered := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{SessionHandle: name, GraphDef: &graph_go_proto.GraphDef{}})
		_, created := w.createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: name})
		_, named := w.createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: name[:9] + want.String(), MasterTask: name})
		for what, err := range map[string]error{"a graph": registered, "a session": created, "a master": named} {
			if status.Code(err) != want {
				t.Errorf("%s with a name of %d bytes: got %v, expected %v", what, len(name), err, want)
			}
		}
	}
	if len(w.graphs) != 1 || len(w.opened) != 2 {
		t.Errorf("%d graphs and %d sessions are there", len(w.graphs), len(w.opened))
	}
}
