package worker

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// draws is a session that draws three numbers in each run of a graph.
type draws struct {
	t       *testing.T
	w       *Worker
	session string
	steps   int64
}

// once registers the graph, runs it and deregisters it.
func (d *draws) once() []float32 {
	d.t.Helper()
	out := link("0", "0", "y:0")
	b := graph.NewBuilder(graph.New())
	shape := b.Const("shape", tensorOf(d.t, []int32{3}))
	y := b.Op("RandomUniform", "y", graph.TypeOf(tensor.Float32), graph.Attrs{"seed": int64(7), "dtype": tensor.Float32, "T": tensor.Int32}, shape)
	b.Node("_Send", "out", nil, attrs(out), y)
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		d.t.Fatal(err)
	}
	graph, err := d.w.registerGraph(d.t.Context(), &rpcs.RegisterGraphRequest{GraphDef: def, SessionHandle: d.session})
	if err != nil {
		d.t.Fatal(err)
	}
	d.steps++
	res, err := d.w.runGraph(d.t.Context(), &rpcs.RunGraphRequest{GraphHandle: graph.GetGraphHandle(), StepId: d.steps, RecvKey: []string{out.String()}})
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.w.deregisterGraph(d.t.Context(), &rpcs.DeregisterGraphRequest{GraphHandle: graph.GetGraphHandle()}); err != nil {
		d.t.Fatal(err)
	}
	got, err := graphdef.FromTensorProto(res.GetRecv()[0].GetTensor())
	if err != nil {
		d.t.Fatal(err)
	}
	return tensor.Values[float32](got)
}

func tensorOf(t *testing.T, v []int32) *tensor.Tensor {
	x, err := tensor.FromSlice(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// expect checks that the numbers are those of the given run of the node.
func expect(t *testing.T, got []float32, run uint64) {
	t.Helper()
	want := make([]float32, 3)
	kernels.Uniform(want, kernels.Seeded(7, 0).Skip(run*3*256))
	if !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v of run %d", got, want, run)
	}
}

// TestRandomState: a random op in a newly registered graph continues in its session, and starts over in another one. Its state is
// dropped with the session, or after many more sessions.
func TestRandomState(t *testing.T) {
	w := newPair()[0]
	a, b := &draws{t: t, w: w, session: "a"}, &draws{t: t, w: w, session: "b"}
	expect(t, a.once(), 0)
	expect(t, a.once(), 1)
	expect(t, b.once(), 0)
	expect(t, a.once(), 2)
	if _, err := w.deleteSession(t.Context(), &rpcs.DeleteWorkerSessionRequest{SessionHandle: "a"}); err != nil {
		t.Fatal(err)
	}
	expect(t, a.once(), 0)
	for i := range maxIdle {
		(&draws{t: t, w: w, session: fmt.Sprint(i)}).once()
	}
	if len(w.sessions.of) != maxIdle || len(w.sessions.idle) != maxIdle {
		t.Errorf("%d sessions are kept, %d of them idle, expected %d", len(w.sessions.of), len(w.sessions.idle), maxIdle)
	}
	expect(t, b.once(), 0)
}

// TestSessionEndsMeanwhile: a graph that is being registered when its session ends is not kept, since nobody would remove it.
func TestSessionEndsMeanwhile(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	for i := range 500 {
		b.Const(fmt.Sprint("c", i), tensorOf(t, []int32{3}))
	}
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	w := newPair()[0]
	for i := range 50 {
		handle := fmt.Sprint(i)
		if _, err := w.createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: handle}); err != nil {
			t.Fatal(err)
		}
		var registering sync.WaitGroup
		registering.Go(func() { // fails if the session ended first
			_, _ = w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{GraphDef: def, SessionHandle: handle, CreateWorkerSessionCalled: true})
		})
		for range i {
			runtime.Gosched()
		}
		if _, err := w.deleteSession(t.Context(), &rpcs.DeleteWorkerSessionRequest{SessionHandle: handle}); err != nil {
			t.Fatal(err)
		}
		registering.Wait()
	}
	if len(w.graphs) != 0 || len(w.sessions.of) != 0 {
		t.Errorf("%d graphs of %d sessions are left", len(w.graphs), len(w.sessions.of))
	}
}
