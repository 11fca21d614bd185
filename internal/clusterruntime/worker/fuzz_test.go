package worker

import (
	"context"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/proto"
)

// FuzzMessages: a worker answers any graph, any run and any call for a tensor, at the latest when the caller gives up. Nothing is left over.
func FuzzMessages(f *testing.F) {
	from, to := link("0", "0", "x:0"), link("0", "0", "y:0")
	run := &rpcs.RunGraphRequest{Send: value(f, from, 1), RecvKey: []string{to.String()}}
	seed := func(m proto.Message) []byte {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(seed(negate(f, from, to)), seed(run), seed(&rpcs.RecvTensorRequest{RendezvousKey: link("0", "1", "e").String()}))
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, graph, run, recv []byte) {
		def, in, call := &graph_go_proto.GraphDef{}, &rpcs.RunGraphRequest{}, &rpcs.RecvTensorRequest{}
		if proto.Unmarshal(graph, def) != nil || proto.Unmarshal(run, in) != nil || proto.Unmarshal(recv, call) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		w := newPair()[0]
		if out, err := w.registerGraph(ctx, &rpcs.RegisterGraphRequest{GraphDef: def}); err == nil {
			in.GraphHandle = out.GetGraphHandle()
			_, _ = w.runGraph(ctx, in) // any error will do
			if _, err := w.cleanupGraph(ctx, &rpcs.CleanupGraphRequest{StepId: in.GetStepId()}); err != nil {
				t.Error(err)
			}
			if _, err := w.deregisterGraph(ctx, &rpcs.DeregisterGraphRequest{GraphHandle: in.GraphHandle}); err != nil {
				t.Error(err)
			}
		}
		_, _ = w.recvTensor(ctx, call)
		if len(w.steps) != 0 || len(w.graphs) != 0 || w.bytes != 0 || w.waiting.Load() != 0 {
			t.Errorf("%d steps, %d graphs with %d bytes and %d calls are left", len(w.steps), len(w.graphs), w.bytes, w.waiting.Load())
		}
	})
}
