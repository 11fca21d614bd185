package ps

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/tensor"
)

// begun is a job with a session.
type begun struct {
	*job
	*Local
	p *Plan
	c *Client // of worker 0
}

func newBegun(t *testing.T, c Config, workers int, s ServerConfig) *begun {
	t.Helper()
	b := &begun{job: newJob(t, "sgd", nil), Local: newLocal(t, c.Servers, workers, s)}
	b.p = b.plan(t, c)
	b.c = b.Client(0, ClientConfig{})
	if err := b.c.Create(testContext(t), b.p, b.state()); err != nil {
		t.Fatal(err)
	}
	return b
}

// mirror returns all values.
func (b *begun) mirror(t *testing.T, c *Client) *Mirror {
	t.Helper()
	m, err := NewMirror(b.p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(testContext(t), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPullUnchanged checks that unchanged parts are not sent again.
func TestPullUnchanged(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(3)}, 1, ServerConfig{})
	ctx := testContext(t)
	m := b.mirror(t, b.c)
	for n, want := range b.first {
		compare(t, map[string]*tensor.Tensor{n: m.Tensor(n)}, map[string]*tensor.Tensor{n: want}, 0)
	}
	clear(m.Tensor("w").Bytes) // values that are not sent stay unchanged
	clear(m.Tensor("table").Bytes)
	if _, err := b.c.Push(ctx, Push{Gradients: []Gradient{{Variable: "table", IDs: []int64{5}, Value: tensor.New(tensor.Float32, 1, 2)}}}); err != nil {
		t.Fatal(err)
	}
	p, err := b.c.Pull(ctx, m)
	if err != nil || p.GlobalStep != 1 {
		t.Fatal(p, err)
	}
	// Rows 4 to 7 are the part of the gradient, which is zero.
	want := slices.Clone(make([]byte, 11*8))
	copy(want[32:64], b.first["table"].Bytes[32:64])
	if !slices.Equal(m.Tensor("table").Bytes, want) || slices.ContainsFunc(m.Tensor("w").Bytes, func(x byte) bool { return x != 0 }) {
		t.Errorf("table %v, w %v", tensor.Values[float32](m.Tensor("table")), tensor.Values[float32](m.Tensor("w")))
	}
	if _, err := NewMirror(b.p, "nothing"); err == nil {
		t.Error("an unknown variable: expected an error")
	}
}

func TestPullRows(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
		b := newBegun(t, Config{Servers: 3, Partitioner: FixedShards(4)}, 1, ServerConfig{})
		c := b.Client(0, ClientConfig{Transfer: d})
		if _, err := c.WaitReady(testContext(t), b.p); err != nil {
			t.Fatal(err)
		}
		ids := []int64{10, 0, 3, 3, 7, 10}
		into, w := tensor.New(tensor.Float32, 6, 2), tensor.New(tensor.Float32, 2, 3)
		if _, err := c.PullRows(testContext(t), Rows{"table", ids, into}, Rows{"w", []int64{2, 5}, w}, Rows{"w", nil, tensor.New(tensor.Float32, 0, 3)}); err != nil {
			t.Fatal(err)
		}
		want, tolerance := tensor.New(tensor.Float32, 6, 2), map[tensor.DType]float64{tensor.Float32: 0, tensor.BFloat16: 4e-3, tensor.Float16: 5e-4}[d]
		for i, id := range ids {
			copy(want.Bytes[i*8:], b.first["table"].Row(int(id)).Bytes)
		}
		compare(t, map[string]*tensor.Tensor{"x": into}, map[string]*tensor.Tensor{"x": want}, tolerance)
		for _, r := range []Rows{{"table", []int64{11}, tensor.New(tensor.Float32, 1, 2)}, {"table", []int64{-1}, tensor.New(tensor.Float32, 1, 2)},
			{"table", []int64{1}, tensor.New(tensor.Float32, 1, 3)}, {"b", []int64{0}, tensor.New(tensor.Float32, 1)}, {"x", nil, w}, {"table", []int64{1}, nil}} {
			if _, err := c.PullRows(testContext(t), r); err == nil {
				t.Errorf("%+v: expected an error", r)
			}
		}
	}
}

// TestTransfer trains with two-byte gradients and values.
func TestTransfer(t *testing.T) {
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
		b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 1, ServerConfig{})
		one := newReference(t, b.job)
		c := b.Client(0, ClientConfig{Transfer: d})
		if _, err := c.WaitReady(testContext(t), b.p); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			g := b.gradients(i)
			if _, err := c.Push(testContext(t), Push{Step: int64(i), Gradients: g}); err != nil {
				t.Fatal(err)
			}
			one.run(g)
		}
		compare(t, b.mirror(t, c).tensors, one.all(), 1e-2)
	}
}

func TestAssign(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 1, ServerConfig{})
	mean, _ := tensor.FromSlice([]float32{1, 2, 3, 4}, 4)
	r, err := b.c.Push(testContext(t), Push{Assign: []Assignment{{"mean", mean}, {"count", tensor.Scalar(int64(7))}}})
	if err != nil || r.GlobalStep != 1 {
		t.Fatal(r, err)
	}
	m := b.mirror(t, b.c)
	compare(t, map[string]*tensor.Tensor{"mean": m.Tensor("mean"), "count": m.Tensor("count")}, map[string]*tensor.Tensor{"mean": mean, "count": tensor.Scalar(int64(7))}, 0)
}

func TestRefusedPushes(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 1, ServerConfig{})
	f := func(shape ...int) *tensor.Tensor { return tensor.New(tensor.Float32, shape...) }
	for want, x := range map[string]Push{
		"no variable x":                {Gradients: []Gradient{{Variable: "x", Value: f()}}},
		"no variable y":                {Assign: []Assignment{{"y", f()}}},
		"expected a value of float32[": {Gradients: []Gradient{{Variable: "w", Value: f(7)}}},
		"assignment to mean":           {Assign: []Assignment{{"mean", f(3)}}},
		"no optimizer":                 {Gradients: []Gradient{{Variable: "mean", Value: f(4)}}},
		"a dense one of a scalar":      {Gradients: []Gradient{{Variable: "b", Value: f(1), IDs: []int64{0}}}},
		"row 11: expected 0 to 10":     {Gradients: []Gradient{{Variable: "table", Value: f(1, 2), IDs: []int64{11}}}},
		"is there twice":               {Gradients: []Gradient{{Variable: "b", Value: f()}, {Variable: "b", Value: f()}}},
		"expected a step >= 0":         {Step: -1},
	} {
		if _, err := b.c.Push(testContext(t), x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	if _, err := b.Client(0, ClientConfig{}).Push(testContext(t), Push{}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("before a session: %v", err)
	}
}

// TestLargestPosition: the state of a worker's input is bounded.
func TestLargestPosition(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 1, ServerConfig{})
	if _, err := b.c.Push(testContext(t), Push{Position: make([]byte, maxPosition)}); err != nil {
		t.Errorf("%d bytes: %v", maxPosition, err)
	}
	if _, err := b.c.Push(testContext(t), Push{Position: make([]byte, maxPosition+1)}); err == nil || !strings.Contains(err.Error(), "a position of 16777217 bytes: expected at most 16777216") {
		t.Errorf("%d bytes: got %v", maxPosition+1, err)
	}
}

// lossy loses answers of a method, a given number from each server.
type lossy struct {
	cluster.Client
	mu     sync.Mutex
	lose   map[cluster.Task]int
	method string
}

func (l *lossy) Stream(ctx context.Context, to cluster.Task, method string) (cluster.ClientStream, error) {
	s, err := l.Client.Stream(ctx, to, method)
	if err != nil || !strings.HasSuffix(method, l.method) {
		return s, err
	}
	return &lossyStream{s, l, to}, nil
}

type lossyStream struct {
	cluster.ClientStream
	l  *lossy
	to cluster.Task
}

func (s *lossyStream) Recv() (*cluster.Frame, error) {
	f, err := s.ClientStream.Recv()
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if err == nil && s.l.lose[s.to] > 0 {
		s.l.lose[s.to]--
		f.Release()
		return nil, status.Error(codes.Unavailable, "the answer is lost")
	}
	return f, err
}

// TestLostAnswers repeats pushes whose answers are lost: they count once, for
// asynchronous, bounded and synchronous plans.
func TestLostAnswers(t *testing.T) {
	for _, c := range []Config{{Servers: 2}, {Servers: 2, Staleness: 3}, {Servers: 2, Sync: &Sync{1, 1}}} {
		for _, losses := range []int{1, 2} {
			b := newBegun(t, c, 1, ServerConfig{})
			l := &lossy{Client: b.workers[0], lose: map[cluster.Task]int{b.Tasks[0]: losses, b.Tasks[1]: losses}, method: "/Push"}
			client := NewClient(ClientConfig{Client: l, Servers: b.Tasks})
			if _, err := client.WaitReady(testContext(t), b.p); err != nil {
				t.Fatal(err)
			}
			one := newReference(t, b.job)
			g := b.gradients(1)
			r, err := client.Push(testContext(t), Push{Gradients: g})
			if err != nil || r.Stale {
				t.Fatalf("%+v: %+v, %v", c, r, err)
			}
			one.run(g)
			if p, err := client.WaitStep(testContext(t), 1); err != nil || p.GlobalStep != 1 {
				t.Fatal(p, err)
			}
			compare(t, b.mirror(t, client).tensors, one.all(), 1e-6)
			s, err := client.Connect(testContext(t), b.p)
			if err != nil || s.Servers[1].Stats.Duplicates == 0 || s.Servers[1].Stats.Pushes != 1 {
				t.Errorf("%+v, %v", s.Servers, err)
			}
		}
	}
}

// TestBrokenStreams breaks the connections of pulls, once each.
func TestBrokenStreams(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 1, ServerConfig{})
	l := &lossy{Client: b.workers[0], lose: map[cluster.Task]int{b.Tasks[0]: 1, b.Tasks[1]: 1}, method: "/Pull"}
	client := NewClient(ClientConfig{Client: l, Servers: b.Tasks})
	if _, err := client.WaitReady(testContext(t), b.p); err != nil {
		t.Fatal(err)
	}
	compare(t, b.mirror(t, client).tensors, b.first, 0)
	l.method, l.lose = "/PullRows", map[cluster.Task]int{b.Tasks[0]: 1, b.Tasks[1]: 1}
	into := tensor.New(tensor.Float32, 11, 2)
	if _, err := client.PullRows(testContext(t), Rows{"table", []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, into}); err != nil {
		t.Fatal(err)
	}
	compare(t, map[string]*tensor.Tensor{"table": into}, map[string]*tensor.Tensor{"table": b.first["table"]}, 0)
}

// TestStaleness drops gradients older than the limit, on all servers.
func TestStaleness(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Staleness: 1}, 1, ServerConfig{})
	ctx := testContext(t)
	for i, want := range []bool{false, false, true} {
		before := b.mirror(t, b.c)
		r, err := b.c.Push(ctx, Push{Step: 0, Gradients: b.gradients(i)})
		if err != nil || r.Stale != want || r.GlobalStep != min(int64(i+1), 2) {
			t.Errorf("push %d: %+v, %v", i, r, err)
		}
		if after := b.mirror(t, b.c); want {
			compare(t, after.tensors, before.tensors, 0)
		}
	}
	s, err := b.c.Connect(ctx, b.p)
	if err != nil || s.Servers[0].Stats.Stale != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestParallelPushes pushes from several workers at once: with SGD the order
// does not matter, and every gradient counts.
func TestParallelPushes(t *testing.T) {
	const workers, steps = 4, 10
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, workers, ServerConfig{})
	one := newReference(t, b.job)
	for i := range workers * steps {
		one.run(b.gradients(i))
	}
	var wg sync.WaitGroup
	for w := range workers {
		c := b.Client(w, ClientConfig{})
		wg.Go(func() {
			if _, err := c.WaitReady(testContext(t), b.p); err != nil {
				t.Error(err)
				return
			}
			for i := range steps {
				if _, err := c.Push(testContext(t), Push{Step: int64(i), Gradients: b.gradients(w*steps + i), Position: []byte{byte(w), byte(i)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s, err := b.c.Fence(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Step != workers*steps || len(s.Positions) != workers || s.Positions[3][1] != steps-1 {
		t.Errorf("step %d, positions %v", s.Step, s.Positions)
	}
	compare(t, read(t, s), one.all(), 1e-4)
}

func TestStopAndFinish(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 1, ServerConfig{})
	ctx := testContext(t)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := b.c.WaitStep(short, 5); !errors.Is(err, context.DeadlineExceeded) && status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a step that does not come: %v", err)
	}
	if err := b.c.SetStop(ctx, "early"); err != nil {
		t.Fatal(err)
	}
	if err := b.c.SetStop(ctx, "later"); err != nil {
		t.Fatal(err)
	}
	if p, err := b.c.WaitStep(ctx, 5); err != nil || !p.Stop || p.Reason != "early" {
		t.Errorf("%+v, %v", p, err)
	}
	if r, err := b.c.Push(ctx, Push{}); err != nil || !r.Stop {
		t.Errorf("%+v, %v", r, err)
	}
	end := Outcome{Reason: "done", Code: 2, GlobalStep: 7}
	if err := b.c.Finish(ctx, end); err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Servers {
		<-s.Done()
		if s.Outcome() != end {
			t.Errorf("outcome %+v, expected %+v", s.Outcome(), end)
		}
	}
	if s, err := b.c.Connect(ctx, b.p); err != nil || *s.Servers[1].Finished != end {
		t.Errorf("%+v, %v", s, err)
	}
	var over *FinishedError
	if _, err := b.c.WaitReady(ctx, b.p); !errors.As(err, &over) || over.Outcome != end {
		t.Errorf("%v, expected the outcome", err)
	}
}
