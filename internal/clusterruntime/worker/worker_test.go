package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair are two connected workers.
type pair [2]*Worker

func (p pair) Worker(_ string, task int) (service.Caller, error) {
	if task < 0 || task > 1 {
		return nil, errors.New("no such task")
	}
	return service.Local(p[task].Methods()), nil
}

func cpu(task string) string { return "/job:w/replica:0/task:" + task + "/device:CPU:0" }

func newPair() *pair {
	p := &pair{}
	for i, task := range []string{"0", "1"} {
		p[i] = New(Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: cpu(task), Incarnation: uint64(i + 1)}}, Peers: p, Parallel: 2})
	}
	return p
}

// link is a key from one task to another.
func link(from, to, edge string) rendezvous.Key {
	k := rendezvous.Key{From: cpu(from), Incarnation: 1, To: cpu(to), Edge: edge, Iteration: rendezvous.Outside}
	if from == "1" {
		k.Incarnation = 2
	}
	return k
}

func attrs(k rendezvous.Key) graph.Attrs {
	return graph.Attrs{"tensor_name": []byte(k.Edge), "send_device": []byte(k.From), "send_device_incarnation": int64(k.Incarnation), "recv_device": []byte(k.To),
		"T": tensor.Float32, "tensor_type": tensor.Float32}
}

// negate is a graph that receives a value, and sends its negative.
func negate(t testing.TB, from, to rendezvous.Key) *graph_go_proto.GraphDef {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	in := b.Op("_Recv", "in", graph.TypeOf(tensor.Float32), attrs(from))
	out := b.Op("Neg", "neg", in.Type(), graph.Attrs{"T": tensor.Float32}, in)
	b.Node("_Send", "out", nil, attrs(to), out)
	def, err := graphdef.ToGraphDef(b.Graph)
	if err = errors.Join(err, b.Err()); err != nil {
		t.Fatal(err)
	}
	return def
}

// register registers a graph with a worker.
func register(t *testing.T, w *Worker, def *graph_go_proto.GraphDef) string {
	t.Helper()
	out, err := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{GraphDef: def})
	if err != nil {
		t.Fatal(err)
	}
	return out.GetGraphHandle()
}

// value is the value to send under a key.
func value(t testing.TB, k rendezvous.Key, v float32) []*for_core_protos_go_proto.NamedTensorProto {
	t.Helper()
	p, err := graphdef.ToTensorProto(tensor.Scalar(v), true)
	if err != nil {
		t.Fatal(err)
	}
	return []*for_core_protos_go_proto.NamedTensorProto{{Name: k.String(), Tensor: p}}
}

// TestTwoWorkers: one forwards a value that it received, and the other one receives it, whichever begins.
func TestTwoWorkers(t *testing.T) {
	for _, first := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair()
			feed, edge, fetch := link("0", "0", "x:0"), link("0", "1", "edge_1"), link("1", "1", "y:0")
			in := [2]*rpcs.RunGraphRequest{
				{GraphHandle: register(t, p[0], negate(t, feed, edge)), StepId: 5, Send: value(t, feed, 3)},
				{GraphHandle: register(t, p[1], negate(t, edge, fetch)), StepId: 5, RecvKey: []string{fetch.String()}},
			}
			out := make([]*rpcs.RunGraphResponse, 2)
			done := make(chan error, 2)
			for _, i := range []int{first, 1 - first} {
				go func() {
					var err error
					out[i], err = p[i].runGraph(t.Context(), in[i])
					done <- err
				}()
				synctest.Wait()
			}
			for range 2 {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			got, err := graphdef.FromTensorProto(out[1].GetRecv()[0].GetTensor())
			if err != nil || got.Float(0) != 3 {
				t.Errorf("got %v, %v", got, err)
			}
			for i, w := range p {
				if _, err := w.cleanupGraph(t.Context(), &rpcs.CleanupGraphRequest{StepId: 5}); err != nil || len(w.steps) != 0 {
					t.Errorf("worker %d: %d steps are left, %v", i, len(w.steps), err)
				}
			}
		})
	}
}

// TestCleanupEndsWaiting: waiting for a tensor of a finished step ends with an error.
func TestCleanupEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPair()[0]
		done := make(chan error)
		go func() {
			_, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{StepId: 1, RendezvousKey: link("0", "1", "e").String()})
			done <- err
		}()
		synctest.Wait()
		if _, err := w.cleanupGraph(t.Context(), &rpcs.CleanupGraphRequest{StepId: 1}); err != nil {
			t.Error(err)
		}
		if err := <-done; status.Code(err) != codes.Aborted {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := w.recvTensor(ctx, &rpcs.RecvTensorRequest{StepId: 2, RendezvousKey: link("0", "1", "e").String()})
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; status.Code(err) != codes.Canceled || len(w.steps) != 0 {
			t.Errorf("got %v, %d steps are left", err, len(w.steps))
		}
	})
}

func TestErrors(t *testing.T) {
	w := newPair()[0]
	handle := register(t, w, negate(t, link("0", "0", "x:0"), link("0", "0", "y:0")))
	bad := value(t, link("0", "0", "x:0"), 1)
	bad[0].Tensor.TensorContent = []byte{1}
	broken := negate(t, link("0", "0", "x:0"), link("0", "0", "y:0"))
	broken.Node[1].Op = "NoSuchOp"
	for name, c := range map[string]struct {
		call func() error
		code codes.Code
		text string
	}{
		"no graph": {func() error { _, err := w.runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: "x"}); return err }, codes.Aborted, "Possibly, this worker just restarted"},
		"no graph to forget": {func() error {
			_, err := w.deregisterGraph(t.Context(), &rpcs.DeregisterGraphRequest{GraphHandle: "x"})
			return err
		}, codes.Aborted, "not found"},
		"damaged feed": {func() error {
			_, err := w.runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: handle, Send: bad})
			return err
		}, codes.InvalidArgument, "feed"},
		"nothing to register": {func() error { _, err := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{}); return err }, codes.InvalidArgument, "expected a graph"},
		"unknown op": {func() error {
			_, err := w.registerGraph(t.Context(), &rpcs.RegisterGraphRequest{GraphDef: broken})
			return err
		}, codes.Unimplemented, "NoSuchOp"},
		"bad key": {func() error {
			_, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{RendezvousKey: "a;b"})
			return err
		}, codes.InvalidArgument, "rendezvous key"},
		"another's key": {func() error {
			_, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{RendezvousKey: link("1", "0", "e").String()})
			return err
		}, codes.Aborted, "different device incarnation"},
		"another device": {func() error {
			k := link("0", "1", "e")
			k.From = "/job:w/replica:0/task:0/device:GPU:0"
			_, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{RendezvousKey: k.String()})
			return err
		}, codes.InvalidArgument, "expected a device of"},
		"restarted": {func() error {
			k := link("0", "1", "e")
			k.Incarnation = 9
			_, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{RendezvousKey: k.String()})
			return err
		}, codes.Aborted, "device incarnation"},
		"no such key":   {func() error { return StatusOf(fmt.Errorf("Key w: %w", bundle.ErrNotFound)) }, codes.NotFound, "Key w"},
		"no folder":     {func() error { return StatusOf(fmt.Errorf("model: %w", syscall.ENOTDIR)) }, codes.FailedPrecondition, "model"},
		"uninitialized": {func() error { return StatusOf(&eager.Error{Node: "v", Op: "VariableV2", Err: eager.ErrUninitialized}) }, codes.FailedPrecondition, "v"},
	} {
		err := c.call()
		if status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: expected %v with %q, got %v", name, c.code, c.text, err)
		}
	}
	out, err := w.runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: "x", StoreErrorsInResponseBody: true})
	if err != nil || codes.Code(out.GetStatusCode()) != codes.Aborted {
		t.Errorf("an error in the answer: got %v, %v", out, err)
	}
}

// TestErrorOfANodeEndsTheStep: parts that wait for a tensor of the failed part get its error.
func TestErrorOfANodeEndsTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPair()[0]
		done := make(chan error)
		go func() {
			_, err := w.recvTensor(t.Context(), &rpcs.RecvTensorRequest{StepId: 3, RendezvousKey: link("0", "1", "other").String()})
			done <- err
		}()
		synctest.Wait()
		from := link("0", "0", "x:0")
		handle := register(t, w, negate(t, from, link("0", "1", "y:0")))
		text := value(t, from, 1)
		text[0].Tensor, _ = graphdef.ToTensorProto(&tensor.Tensor{DType: tensor.String, Strings: [][]byte{[]byte("no number")}}, true)
		_, err := w.runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: handle, StepId: 3, Send: text})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `"in" (_Recv): expected a tensor of type float32, got string`) {
			t.Errorf("the run: got %v", err)
		}
		if other := <-done; other == nil || other.Error() != err.Error() {
			t.Errorf("who waited: got %v, expected %v", other, err)
		}
	})
}
