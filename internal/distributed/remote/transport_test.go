package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/tensor"
)

// script is an Executor with the functions that tests call.
type script struct {
	started chan struct{} // gets a token for each wait
	begun   atomic.Int64
	made    []string
	makes   chan struct{} // gets a token for each resource that is made
	ended   chan struct{} // gets a token at the end of a session
}

func (s *script) Begin(context.Context) error {
	s.begun.Add(1)
	s.made = nil
	return nil
}

func (s *script) End() { s.ended <- struct{}{} }

func (s *script) Make(_ context.Context, number int, maker string) error {
	s.made = append(s.made, fmt.Sprint(maker, number))
	s.makes <- struct{}{}
	return nil
}

func (s *script) Run(ctx context.Context, c Call) ([]*tensor.Tensor, error) {
	switch c.Function {
	case "echo":
		var out []*tensor.Tensor
		for _, a := range c.Args {
			out = append(out, a.Tensor)
		}
		return out, nil
	case "made":
		text, err := tensor.FromStrings([][]byte{[]byte(strings.Join(s.made, " "))}, 1)
		return []*tensor.Tensor{text}, err
	case "wait":
		s.started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	case "servers":
		return nil, fmt.Errorf("pull: %w", ErrServersLost)
	case "zero":
		return []*tensor.Tensor{{}}, nil
	case "short":
		return []*tensor.Tensor{{DType: tensor.Float32, Shape: []int{3}, Bytes: make([]byte, 4)}}, nil
	case "nil":
		return []*tensor.Tensor{nil}, nil
	case "texts":
		return []*tensor.Tensor{{DType: tensor.String, Shape: []int{3}}}, nil
	case "panic":
		panicAsWanted()
	case "large":
		return []*tensor.Tensor{tensor.New(tensor.Float32, 20<<20)}, nil
	case "some":
		return []*tensor.Tensor{tensor.New(tensor.Float32, 1<<20)}, nil
	case "too many":
		return tooMany(), nil
	}
	return nil, errOwn
}

func panicAsWanted() { panic("as the test wants") }

// link is a Coordinator whose only worker is another node of an in-memory cluster.
type link struct {
	*Coordinator
	chief, worker *cluster.Node
	faults        *cluster.Faults
	script        *script
	server        *Server
}

var chiefTask, workerTask = cluster.Task{Job: "chief"}, cluster.Task{Job: "worker"}

func newLink(t *testing.T) *link {
	t.Helper()
	nodes, faults := cluster.NewLocal(chiefTask, workerTask)
	l := &link{chief: nodes[chiefTask], faults: faults, script: &script{started: make(chan struct{}, 10), ended: make(chan struct{}, 10), makes: make(chan struct{}, 10)}}
	l.serve(t, nodes[workerTask])
	l.Coordinator = Start([]Worker{NewClient(l.chief, workerTask)}, Options{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		l.worker.Close()
		l.chief.Close()
	})
	return l
}

// serve makes a node run functions.
func (l *link) serve(t *testing.T, n *cluster.Node) {
	t.Helper()
	l.worker, l.server = n, NewServer()
	l.server.Attach(l.script)
	if err := n.Register(l.server.Service()); err != nil {
		t.Fatal(err)
	}
	n.Serve()
}

func (l *link) schedule(t *testing.T, c Call) *Value {
	t.Helper()
	v, err := l.Schedule(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTensorsTravel: tensors of every type, in both directions.
func TestTensorsTravel(t *testing.T) {
	l := newLink(t)
	strings, _ := tensor.FromStrings([][]byte{[]byte("avenger"), {}, []byte("ironman")}, 3, 1)
	floats, _ := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	bools, _ := tensor.FromSlice([]bool{true, false}, 2)
	sent := []*tensor.Tensor{tensor.Scalar(int64(7)), strings, floats, bools, tensor.New(tensor.Float64, 0, 4)}
	c := Call{Function: "echo"}
	for _, x := range sent {
		c.Args = append(c.Args, Arg{Tensor: x})
	}
	got, err := l.schedule(t, c).Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range sent {
		g := got[i]
		if g.DType != want.DType || !slices.Equal(g.Shape, want.Shape) || string(g.Bytes) != string(want.Bytes) || !slices.EqualFunc(g.Strings, want.Strings, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("%v%v came back as %v%v", want.DType, want.Shape, g.DType, g.Shape)
		}
	}
}

// TestErrorsTravel: errors keep their kind.
func TestErrorsTravel(t *testing.T) {
	l := newLink(t)
	for name, want := range map[string]error{"unknown": ErrFunction, "panic": ErrFunction, "zero": ErrFunction, "short": ErrFunction, "nil": ErrFunction, "texts": ErrFunction, "servers": ErrServersLost} {
		l.schedule(t, Call{Function: name})
		if err := l.Join(t.Context()); !errors.Is(err, want) || !strings.Contains(err.Error(), "/job:worker/task:0") {
			t.Errorf("%s: %v, expected %v of the worker", name, err, want)
		}
	}
	l.schedule(t, Call{Function: "echo", Args: []Arg{{Tensor: &tensor.Tensor{}}}})
	if err := l.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "arguments of echo") {
		t.Errorf("%v, expected an error of the argument", err)
	}
	if n := l.script.begun.Load(); n != 2 {
		t.Errorf("%d sessions, expected a new one for the servers alone", n)
	}
	l.schedule(t, Call{Function: "panic"})
	if err := l.Join(t.Context()); !strings.Contains(fmt.Sprint(err), "panic: as the test wants at ") || !strings.Contains(err.Error(), "panicAsWanted (transport_test.go:") {
		t.Errorf("%v, expected the panic and where it was", err)
	}
	l.schedule(t, Call{Function: "large"})
	if err := l.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "results of large") || !strings.Contains(err.Error(), "max_message_mb") {
		t.Errorf("%v, expected too large results", err)
	}
	large := tensor.New(tensor.Float32, 20<<20)
	l.schedule(t, Call{Function: "echo", Args: []Arg{{Tensor: large}}})
	if err := l.Join(t.Context()); !errors.Is(err, ErrFunction) || !strings.Contains(err.Error(), "max_message_mb") {
		t.Errorf("%v, expected too large a message", err)
	}
	if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCancelTravels: a running function is asked to end.
func TestCancelTravels(t *testing.T) {
	l := newLink(t)
	v := l.schedule(t, Call{Function: "wait"})
	<-l.script.started
	l.queue.failCalls(errOwn)
	if err := l.Join(t.Context()); !errors.Is(err, errOwn) {
		t.Errorf("%v, expected the error", err)
	}
	if _, err := v.Fetch(t.Context()); !errors.Is(err, ErrCancelled) {
		t.Errorf("%v, expected ErrCancelled", err)
	}
	if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
		t.Errorf("%v, expected to go on", err)
	}
}

// TestWorkerStartsAgain: a function whose worker ends is run again, on resources that are made again.
func TestWorkerStartsAgain(t *testing.T) {
	l := newLink(t)
	l.AddResource("data")
	v := l.schedule(t, Call{Function: "wait"})
	<-l.script.started
	go l.worker.Close() // ends the function through its context
	<-l.script.ended
	l.worker.Close()
	l.serve(t, l.faults.Restart(workerTask))
	<-l.script.started
	l.queue.failCalls(errOwn)
	if err := l.Join(t.Context()); !errors.Is(err, errOwn) {
		t.Fatal(err)
	}
	if _, err := v.Fetch(t.Context()); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	l.AddResource("more")
	out, err := l.schedule(t, Call{Function: "made"}).Fetch(t.Context())
	if err != nil || string(out[0].Strings[0]) != "data1 more2" {
		t.Errorf("%v, %v", out, err)
	}
	if n := l.script.begun.Load(); n != 2 {
		t.Errorf("%d sessions, expected 2", n)
	}
}

// TestIdleWorkerStartsAgain: a worker that is lost while idle gets its resources again
// before there is work.
func TestIdleWorkerStartsAgain(t *testing.T) {
	l := newLink(t)
	l.AddResource("data")
	if _, err := l.schedule(t, Call{Function: "made"}).Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.worker.Close()
	<-l.script.ended
	l.serve(t, l.faults.Restart(workerTask))
	<-l.script.makes
	<-l.script.makes // again
}

// TestOver: Close tells the worker that no more functions will follow.
func TestOver(t *testing.T) {
	l := newLink(t)
	if _, err := l.schedule(t, Call{Function: "echo"}).Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-l.server.Over()
	l.server.Detach()
	if err := l.Join(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestIdleSessionEnds: for another session, or when the worker runs no more functions.
func TestIdleSessionEnds(t *testing.T) {
	l := newLink(t)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := func() Session {
		s, err := NewClient(l.chief, workerTask).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(false) })
		return s
	}
	first := open()
	second := open()
	<-first.Context().Done()
	l.server.Detach()
	<-second.Context().Done()
}
