package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// takes is a graph with out nodes that each dequeue an element, and in nodes that each enqueue one.
func takes(t *testing.T, out, in int) *graph_go_proto.GraphDef {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	q := b.Node("FIFOQueueV2", "q", []graph.Type{{DType: tensor.Resource}}, graph.Attrs{"component_types": []tensor.DType{tensor.Float32}})
	for i := range out {
		b.Node("QueueDequeueV2", fmt.Sprint("take", i), []graph.Type{graph.TypeOf(tensor.Float32)}, graph.Attrs{"component_types": []tensor.DType{tensor.Float32}}, q.Out(0))
	}
	for i := range in {
		b.Node("QueueEnqueueV2", fmt.Sprint("put", i), nil, graph.Attrs{"Tcomponents": []tensor.DType{tensor.Float32}}, q.Out(0), b.Const(fmt.Sprint("one", i), tensor.Scalar(float32(1))))
	}
	def, err := graphdef.ToGraphDef(b.Graph)
	if err = errors.Join(err, b.Err()); err != nil {
		t.Fatal(err)
	}
	return def
}

// TestQueuesOfSteps: waiting steps do not keep others from running, end with their caller, and leave nothing behind after their session.
func TestQueuesOfSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPair()[0]
		run := func(ctx context.Context, step int64, def *graph_go_proto.GraphDef) (handle string, done <-chan error) {
			out, err := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{GraphDef: def, SessionHandle: "s"})
			if err != nil {
				t.Fatal(err)
			}
			end := make(chan error, 1)
			go func() {
				_, err := w.runGraph(ctx, &rpcs.RunGraphRequest{GraphHandle: out.GetGraphHandle(), StepId: step})
				end <- err
			}()
			synctest.Wait()
			return out.GetGraphHandle(), end
		}
		const more = 10 // than may run at the same time
		ctx, cancel := context.WithCancel(t.Context())
		first, waits := run(ctx, 1, takes(t, more, 0))
		second, both := run(t.Context(), 2, takes(t, more, 2*more))
		for name, done := range map[string]<-chan error{"who waited": waits, "who put elements in": both} {
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		third, waits := run(ctx, 3, takes(t, 1, 0))
		select {
		case err := <-waits:
			t.Errorf("an empty queue had an element: %v", err)
		default:
		}
		cancel()
		if err := <-waits; status.Code(err) != codes.Canceled {
			t.Errorf("the caller is gone: got %v", err)
		}
		for _, handle := range []string{first, second, third} {
			if _, err := w.deregisterGraph(t.Context(), &rpcs.DeregisterGraphRequest{GraphHandle: handle}); err != nil {
				t.Error(err)
			}
		}
		if len(w.sessions.of) != 0 {
			t.Errorf("%d sessions are left", len(w.sessions.of))
		}
	})
}
