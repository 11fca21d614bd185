package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// many is a header with that many empty tensors.
func many(tensors int) (b []byte) {
	for range tensors {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldTensors, protowire.BytesType), nil)
	}
	return b
}

// hostileHeaders are headers that no peer of the same version sends.
var hostileHeaders = map[string][]byte{
	"nonsense":     []byte("\xff\xff\xff"),
	"other type":   protowire.AppendVarint(protowire.AppendTag(nil, fieldTensors, protowire.VarintType), 7),
	"many tensors": many(maxTensors + 1),
	"long header":  make([]byte, maxHeader+1),
	"empty body":   wire.Encode(&wire.FunctionReply{Results: []*wire.TensorHeader{{Dtype: int64(tensor.Float32), Shape: []int64{1 << 38}}}}),
}

// TestHostileReplies: an invalid answer of a worker is an error of the function, which is not retried forever.
func TestHostileReplies(t *testing.T) {
	nodes, _ := cluster.NewLocal(chiefTask, workerTask)
	answer := make(chan []byte, 1)
	serve := func(_ context.Context, st cluster.Stream) error {
		if err := st.Send(replyOf(1, nil, nil)); err != nil {
			return err
		}
		for {
			f, err := st.Recv()
			if err != nil {
				return nil
			}
			f.Release()
			select {
			case b := <-answer:
				err = st.Send(&cluster.Frame{Header: b})
			default:
				return nil // the Coordinator's farewell
			}
			if err != nil {
				return err
			}
		}
	}
	if err := nodes[workerTask].Register(cluster.Service{Name: serviceName, Streams: map[string]cluster.StreamHandler{"Serve": serve}}); err != nil {
		t.Fatal(err)
	}
	nodes[workerTask].Serve()
	defer nodes[workerTask].Close()
	defer nodes[chiefTask].Close()
	c := Start([]Worker{NewClient(nodes[chiefTask], workerTask)}, Options{Log: slog.New(slog.DiscardHandler)})
	for name, header := range hostileHeaders {
		answer <- header
		v, err := c.Schedule(t.Context(), Call{Function: "any"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "are all tasks of one version?") {
			t.Errorf("%s: %v, expected to be refused", name, err)
		}
		if _, err := v.Fetch(t.Context()); !errors.Is(err, ErrFunction) {
			t.Errorf("%s: %v, expected the error", name, err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestHostileRequests: they end the session, and the worker accepts the next one.
func TestHostileRequests(t *testing.T) {
	l := newLink(t)
	if err := l.Coordinator.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, header := range hostileHeaders {
		if name == "empty body" {
			header = wire.Encode(&wire.FunctionRequest{Kind: 99})
		}
		st, err := l.chief.Stream(t.Context(), workerTask, serveMethod)
		if err != nil {
			t.Fatal(err)
		}
		hello, err := st.Recv()
		if err != nil {
			t.Fatal(err)
		}
		hello.Release()
		if err := st.Send(&cluster.Frame{Header: header}); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, expected to be refused", name, err)
		}
	}
	again := Start([]Worker{NewClient(l.chief, workerTask)}, Options{Log: slog.New(slog.DiscardHandler)})
	v, err := again.Schedule(t.Context(), Call{Function: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Fetch(t.Context()); err != nil {
		t.Error(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestHostileTensors: the claims of a header are checked before memory is allocated.
func TestHostileTensors(t *testing.T) {
	f := &cluster.Frame{Body: [][]byte{make([]byte, 16)}}
	for name, h := range map[string]*wire.TensorHeader{
		"none":          nil,
		"no type":       {Dtype: 99},
		"negative type": {Dtype: -1},
		"negative":      {Dtype: int64(tensor.Float32), Shape: []int64{-1}},
		"overflow":      {Dtype: int64(tensor.Float32), Shape: []int64{1 << 33, 1 << 33}},
		"wide overflow": {Dtype: int64(tensor.Float32), Shape: []int64{1 << 62}},
		"longer":        {Dtype: int64(tensor.Float32), Shape: []int64{5}},
		"strings":       {Dtype: int64(tensor.String), Shape: []int64{1 << 39}},
		"lengths":       {Dtype: int64(tensor.String), Shape: []int64{2}, Lengths: []uint64{10, 10}},
		"huge":          {Dtype: int64(tensor.String), Shape: []int64{1}, Lengths: []uint64{1 << 63}},
	} {
		if x, err := (&reader{frame: f}).tensor(h); err == nil {
			t.Errorf("%s: made %v%v", name, x.DType, x.Shape)
		}
	}
}

// TestLimitsDiffer: a message that one end may send and the other refuses is an error of the function.
func TestLimitsDiffer(t *testing.T) {
	const small, large = 1 << 20, 8 << 20
	for _, x := range []struct {
		name          string
		chief, worker int // limits of a message
		call          Call
	}{
		{"arguments", large, small, Call{Function: "echo", Args: []Arg{{Tensor: tensor.New(tensor.Float32, 1<<20)}}}},
		{"results", small, large, Call{Function: "some"}},
	} {
		l := &link{script: &script{started: make(chan struct{}, 10), ended: make(chan struct{}, 10)}}
		spec, listeners := loopback(t, chiefTask, workerTask)
		open := func(task cluster.Task, limit int) *cluster.Node {
			n, err := cluster.Open(cluster.Config{Task: task, Listener: listeners[task], Spec: spec, MaxMessageBytes: limit, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		l.chief = open(chiefTask, x.chief)
		l.serve(t, open(workerTask, x.worker))
		l.Coordinator = Start([]Worker{NewClient(l.chief, workerTask)}, Options{Log: slog.New(slog.DiscardHandler)})
		l.schedule(t, x.call)
		if err := l.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "rpc.max_message_mb") {
			t.Errorf("%s: %v, expected too large a message", x.name, err)
		}
		if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
			t.Errorf("%s: %v, expected to go on", x.name, err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.worker.Close()
		l.chief.Close()
	}
}

// loopback opens a port for each task.
func loopback(t *testing.T, tasks ...cluster.Task) (runconfig.ClusterSpec, map[cluster.Task]net.Listener) {
	t.Helper()
	addresses, listeners := map[string][]string{}, map[cluster.Task]net.Listener{}
	for _, task := range tasks {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses[task.Job], listeners[task] = append(addresses[task.Job], l.Addr().String()), l
	}
	return runconfig.NewClusterSpec(addresses), listeners
}

// TestTooManyTensors: a message that the other end would refuse is not sent.
func TestTooManyTensors(t *testing.T) {
	l := newLink(t)
	c := Call{Function: "echo"}
	for _, x := range tooMany() {
		c.Args = append(c.Args, Arg{Tensor: x})
	}
	l.schedule(t, c)
	if err := l.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "arguments of echo: more than 65536 tensors") {
		t.Errorf("%v, expected to be refused", err)
	}
	l.schedule(t, Call{Function: "too many"})
	if err := l.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "results of too many: more than 65536 tensors") {
		t.Errorf("%v, expected to be refused", err)
	}
	if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
		t.Error(err)
	}
}

func tooMany() []*tensor.Tensor {
	return slices.Repeat([]*tensor.Tensor{tensor.New(tensor.Float32, 0)}, maxTensors+1)
}
