package ps

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

func checkReset(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrReset) {
		t.Errorf("got %v, expected ErrReset", err)
	}
}

// big is a model whose parts have several blocks: each push subtracts the same from every element, so that
// a snapshot of one moment has equal elements.
func big(t *testing.T, rule optimizers.Rule, servers int, c ServerConfig) (*Local, *Client, *Plan) {
	t.Helper()
	v := []*models.Variable{{Name: "x", DType: tensor.Float32, Shape: []int{3000, 100}, Init: initializers.Zeros()}}
	train := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: v, Rule: rule, LearningRate: optimizers.Constant(1)}}}
	p, err := NewPlan(v, Config{Servers: servers, Partitioner: FixedShards(servers), Train: train})
	if err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, servers, 2, c)
	client := l.Client(0, ClientConfig{})
	if err := client.Create(testContext(t), p, State{Value: Initial(v, 1)}); err != nil {
		t.Fatal(err)
	}
	return l, client, p
}

func constant(x float32, shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, shape...)
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = x
	}
	return t
}

// TestSnapshotIsOneMoment reads a snapshot while training continues, with dense and
// sparse updates between the reads.
func TestSnapshotIsOneMoment(t *testing.T) {
	_, c, p := big(t, rule.SGD{}, 1, ServerConfig{})
	ctx := testContext(t)
	all := Gradient{Variable: "x", Value: constant(-1, 3000, 100)}
	some := Gradient{Variable: "x", Value: constant(-1, 3, 100), IDs: []int64{0, 1500, 2999}}
	push := func(g Gradient) {
		if _, err := c.Push(ctx, Push{Gradients: []Gradient{g}}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		push(all)
		s, err := c.Fence(ctx)
		if err != nil {
			t.Fatal(err)
		}
		first := tensor.New(tensor.Float32, 3000, 100)
		half := len(first.Bytes) / 2
		push(some)
		if err := s.read(ctx, 0, 0, 0, first.Bytes[:half]); err != nil {
			t.Fatal(err)
		}
		push(all)
		push(some)
		if err := s.read(ctx, 0, 0, half, first.Bytes[half:]); err != nil {
			t.Fatal(err)
		}
		// Each round adds two to all elements, and two more to some.
		for i, row := range []int{0, 1, 1499, 1500, 2998, 2999} {
			want := float64(2*round + 1)
			if i%5 == 0 || row == 1500 {
				want += float64(2 * round)
			}
			if got := first.Row(row).Float(99); got != want {
				t.Errorf("round %d, row %d: %g, expected %g", round, row, got, want)
			}
		}
		if err := s.read(ctx, 0, 0, 0, first.Bytes[:4]); err == nil || !strings.Contains(err.Error(), "forgotten") {
			t.Errorf("reading again: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Parts[0].Read(ctx); err == nil {
			t.Error("reading a closed snapshot: expected an error")
		}
	}
	st, err := c.Connect(ctx, p)
	if x := st.Servers[0].Stats; err != nil || x.Fences != 3 || x.CopiedBytes == 0 || x.CopiedBytes > 3*1200000 {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestFenceWhilePushing takes snapshots while workers push: each contains as many gradients as its step
// says, on one server; and pushes continue.
func TestFenceWhilePushing(t *testing.T) {
	l, c, p := big(t, rule.SGD{}, 1, ServerConfig{})
	ctx := testContext(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			c := l.Client(w, ClientConfig{})
			if _, err := c.WaitReady(ctx, p); err != nil {
				t.Error(err)
			}
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Push(ctx, Push{Step: int64(i), Gradients: []Gradient{{Variable: "x", Value: constant(-1, 3000, 100)}}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 5 {
		s, err := c.Fence(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range tensor.Values[float32](read(t, s)["x"]) {
			if x != float32(s.Step) {
				t.Fatalf("an element is %g at step %d", x, s.Step)
			}
		}
		if s.Held <= 0 {
			t.Error("the fence took no time")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestFenceQueues holds back a push between begin and end of a fence.
func TestFenceQueues(t *testing.T) {
	_, c, p := big(t, rule.SGD{}, 2, ServerConfig{})
	ctx := testContext(t)
	_, ids, _ := c.connection()
	var begin wire.FenceReply
	if err := c.call(ctx, 0, "FenceBegin", &wire.FenceRequest{Id: ids[0], Fence: 77}, &begin); err != nil || begin.Step != 0 {
		t.Fatal(&begin, err)
	}
	pushed := make(chan error)
	go func() {
		_, err := c.Push(ctx, Push{Gradients: []Gradient{{Variable: "x", Value: constant(-1, 3000, 100)}}})
		pushed <- err
	}()
	for queued := uint64(0); queued == 0; {
		s, err := c.Connect(ctx, p)
		if err != nil || s.GlobalStep != 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		queued = s.Servers[0].Stats.Queued
	}
	if err := c.call(ctx, 0, "FenceEnd", &wire.FenceRequest{Id: ids[0], Fence: 77}, &begin); err != nil || begin.HeldNs <= 0 {
		t.Fatal(&begin, err)
	}
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
}

// TestFenceGivenUp has a chief that disappears between begin and end, and one that never reads: pushes
// continue, and the snapshots are dropped.
func TestFenceGivenUp(t *testing.T) {
	l, c, _ := big(t, rule.SGD{}, 1, ServerConfig{FenceHold: time.Second, FenceLease: time.Second})
	ctx := testContext(t)
	_, ids, _ := c.connection()
	if err := c.call(ctx, 0, "FenceBegin", &wire.FenceRequest{Id: ids[0], Fence: 77}, &wire.FenceReply{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(ctx, Push{Gradients: []Gradient{{Variable: "x", Value: constant(-1, 3000, 100)}}}); err != nil {
		t.Fatal(err)
	}
	err := c.call(ctx, 0, "FenceEnd", &wire.FenceRequest{Id: ids[0], Fence: 77}, &wire.FenceReply{})
	if err == nil || errors.Is(err, ErrReset) || !strings.Contains(err.Error(), "took too long") {
		t.Error(err)
	}
	s, err := c.Fence(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for latest := uint64(1); latest != 0 && ctx.Err() == nil; {
		f := &l.Servers[0].session.fences
		f.mu.Lock()
		latest = f.latest
		f.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	if _, err := s.Parts[0].Read(ctx); err == nil || !strings.Contains(err.Error(), "given up") {
		t.Errorf("after the lease: %v", err)
	}
}

// TestLeaseEndsWithoutTheHold: pushes continue after the lease, if that is shorter than the time limit for
// holding them back.
func TestLeaseEndsWithoutTheHold(t *testing.T) {
	_, c, _ := big(t, rule.SGD{}, 1, ServerConfig{FenceHold: time.Hour, FenceLease: 50 * time.Millisecond})
	ctx := testContext(t)
	_, ids, _ := c.connection()
	if err := c.call(ctx, 0, "FenceBegin", &wire.FenceRequest{Id: ids[0], Fence: 77}, &wire.FenceReply{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(ctx, Push{Gradients: []Gradient{{Variable: "x", Value: constant(-1, 3000, 100)}}}); err != nil {
		t.Fatal(err)
	}
}

// TestCheckpoint writes a snapshot as a TensorBundle and restores it with different numbers of servers and
// parts.
func TestCheckpoint(t *testing.T) {
	ctx := testContext(t)
	j := newJob(t, "adam", nil)
	l := newLocal(t, 3, 1, ServerConfig{})
	c := l.Client(0, ClientConfig{})
	if err := c.Create(ctx, j.plan(t, Config{Servers: 3, Partitioner: FixedShards(4)}), j.state()); err != nil {
		t.Fatal(err)
	}
	one := newReference(t, j)
	run := func(c *Client, from, to int) {
		for i := from; i < to; i++ {
			if _, err := c.Push(ctx, Push{Step: int64(i), Gradients: j.gradients(i), Position: []byte{byte(i)}}); err != nil {
				t.Fatal(err)
			}
			one.run(j.gradients(i))
		}
	}
	run(c, 0, 3)
	s, err := c.Fence(ctx)
	if err != nil {
		t.Fatal(err)
	}
	saver, err := checkpoint.NewSaver(t.TempDir(), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = saver.Save(ctx, checkpoint.Snapshot{Step: s.Step, Tensors: s.Scalars, Parts: func(yield func(checkpoint.Part, error) bool) {
		for _, x := range s.Parts {
			v, err := x.Read(ctx)
			if !yield(checkpoint.Part{Name: x.Name, Full: x.Type.Shape.At(0), Slice: sliceOf(x), Tensor: v}, err) || err != nil {
				return
			}
		}
	}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := saver.OpenLatest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if info, _ := r.Lookup("table/Adam_1"); len(info.Slices) != 4 {
		t.Errorf("slot: %+v", info)
	}
	if info, _ := r.Lookup("b"); len(info.Slices) != 0 {
		t.Errorf("scalar: %+v", info)
	}
	for _, other := range []Config{{Servers: 1}, {Servers: 2, Partitioner: FixedShards(3)}} {
		two := newLocal(t, other.Servers, 1, ServerConfig{})
		c := two.Client(0, ClientConfig{})
		if err := c.Create(ctx, j.plan(t, other), State{Step: r.Step(), Value: restored(r, nil), Positions: s.Positions}); err != nil {
			t.Fatal(err)
		}
		again, err := c.Fence(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if again.Step != 3 || len(again.Positions) != 1 || again.Positions[0][0] != 2 {
			t.Errorf("step %d, positions %v", again.Step, again.Positions)
		}
		compare(t, read(t, again), one.all(), 1e-5)
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	wrong := newJob(t, "adam", nil)
	wrong.variables[0].Shape = []int{7, 4}
	if err := c.Create(ctx, wrong.plan(t, Config{Servers: 3}), State{Value: restored(r, nil), Replace: true}); err == nil || !strings.Contains(err.Error(), "the checkpoint's w is a float32[7 3]") {
		t.Errorf("another shape: %v", err)
	}
}

// TestSessions follows a job through a lost server and a new session.
func TestSessions(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 3, ServerConfig{})
	ctx := testContext(t)
	if err := b.c.Create(ctx, b.p, b.state()); !errors.Is(err, ErrExists) {
		t.Errorf("a second session: %v", err)
	}
	other := b.Client(1, ClientConfig{})
	if _, err := other.Connect(ctx, b.plan(t, Config{Servers: 2, Partitioner: FixedShards(2)})); !errors.Is(err, ErrPlan) {
		t.Errorf("another plan: %v", err)
	}
	if s, err := other.Connect(ctx, b.p); err != nil || !s.Ready || s.Session == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := b.Stop(1); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err := other.Push(short, Push{Gradients: b.gradients(1)})
	if err == nil || !strings.Contains(err.Error(), "/job:ps/task:1") {
		t.Errorf("a server is gone: %v", err)
	}
	if err := b.Restart(1); err != nil {
		t.Fatal(err)
	}
	_, err = other.Push(ctx, Push{Gradients: b.gradients(1)})
	checkReset(t, err)
	if s, err := other.Connect(ctx, b.p); err != nil || s.Ready || s.Session != 0 {
		t.Errorf("half a session: %+v, %v", s, err)
	}
	ready := make(chan error)
	go func() {
		_, err := other.WaitReady(ctx, b.p)
		ready <- err
	}()
	state := b.state()
	state.Step, state.Replace = 40, true
	if err := b.c.Create(ctx, b.p, state); err != nil {
		t.Fatal(err)
	}
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	if r, err := other.Push(ctx, Push{Step: 40, Gradients: b.gradients(1)}); err != nil || r.GlobalStep != 41 {
		t.Errorf("%+v, %v", r, err)
	}
	third := b.Client(2, ClientConfig{})
	short, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	empty, err := NewPlan(b.variables, Config{Servers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := third.Connect(short, empty); err == nil {
		t.Error("a plan for fewer servers: expected an error")
	}
	lost := NewClient(ClientConfig{Client: b.workers[2], Servers: []cluster.Task{{Job: "ps", Index: 7}}})
	if _, err := lost.Connect(short, empty); err == nil {
		t.Error("a server that does not exist: expected an error")
	}
}

func TestMissingValue(t *testing.T) {
	j := newJob(t, "sgd", nil)
	l := newLocal(t, 1, 1, ServerConfig{})
	c := l.Client(0, ClientConfig{})
	delete(j.first, "w")
	if err := c.Create(testContext(t), j.plan(t, Config{Servers: 1}), j.state()); err == nil || !strings.Contains(err.Error(), "variable w has no initial value") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Pull(testContext(t), &Mirror{}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("got %v", err)
	}
}

// TestFenceWaits has a checkpoint wait for a push until something else ends its wait: the error names it.
func TestFenceWaits(t *testing.T) {
	s, id, _ := target(t, Config{Servers: 1}, nil)
	x, err := s.find(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.gate.enter(t.Context()); err != nil { // a push that does not end
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.hold(gone, time.Hour); status.Code(err) != codes.Canceled {
		t.Errorf("a caller that is gone: got %v", err)
	}
	if err := x.hold(t.Context(), time.Nanosecond); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a push that takes too long: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.hold(t.Context(), time.Hour); !errors.Is(explain(cluster.Task{}, err), ErrReset) {
		t.Errorf("a server that ends: got %v, expected ErrReset", err)
	}
}
