package ps

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/tensor"
)

// TestBackups aggregates two of three workers: the third's gradients are stale, are
// counted, and change nothing; all servers use the same two.
func TestBackups(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2), Sync: &Sync{Aggregate: 2, Workers: 3}}, 3, ServerConfig{})
	ctx := testContext(t)
	one := newReference(t, b.job)
	for step := range int64(5) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		used, stale := map[int][]Gradient{}, 0
		for w := range 3 {
			c := b.Client(w, ClientConfig{})
			wg.Go(func() {
				if _, err := c.WaitReady(ctx, b.p); err != nil {
					t.Error(err)
					return
				}
				g := b.gradients(int(step)*3 + w)
				r, err := c.Push(ctx, Push{Step: step, Gradients: g})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if r.Stale {
					stale++
				} else {
					used[w] = g
				}
			})
		}
		wg.Wait()
		if p, err := b.c.WaitStep(ctx, step+1); err != nil || p.GlobalStep != step+1 {
			t.Fatalf("step %d: %+v, %v", step, p, err)
		}
		if stale != 1 || len(used) != 2 {
			t.Fatalf("step %d: %d stale, %d used", step, stale, len(used))
		}
		var all [][]Gradient
		for w := range 3 {
			if used[w] != nil {
				all = append(all, used[w])
			}
		}
		one.run(all...)
	}
	compare(t, b.mirror(t, b.c).tensors, one.all(), 1e-5)
	if s, err := b.c.Connect(ctx, b.p); err != nil || s.Servers[0].Stats.Stale != 5 || s.Servers[1].Stats.Steps != 5 {
		t.Errorf("%+v, %v", s.Servers, err)
	}
}

// TestWorkerGone has a worker that sends its gradients to one server and
// disappears: another worker's gradients make the step.
func TestWorkerGone(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Sync: &Sync{Aggregate: 1, Workers: 2}}, 2, ServerConfig{})
	ctx := testContext(t)
	gone := b.Client(1, ClientConfig{})
	if _, err := gone.WaitReady(ctx, b.p); err != nil {
		t.Fatal(err)
	}
	_, ids, _ := gone.connection()
	out := &outgoing{c: gone, p: b.p, Push: Push{Gradients: b.gradients(8)}, parts: make([]outgoingPart, 2), sequence: 1}
	if err := out.prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.attempt(ctx, 1, ids[1], nil, nil); err != nil {
		t.Fatal(err)
	}
	g := b.gradients(9)
	if r, err := b.c.Push(ctx, Push{Gradients: g}); err != nil || r.Stale {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := b.c.WaitStep(ctx, 1); err != nil {
		t.Fatal(err)
	}
	one := newReference(t, b.job)
	one.run(g)
	compare(t, b.mirror(t, b.c).tensors, one.all(), 1e-6)
	if r, err := gone.Push(ctx, Push{Step: 0, Gradients: b.gradients(8)}); err != nil || !r.Stale {
		t.Errorf("a late push: %+v, %v", r, err)
	}
	if _, err := gone.Push(ctx, Push{Step: 7}); err == nil || !strings.Contains(err.Error(), "at step 1") {
		t.Errorf("a push ahead of time: %v", err)
	}
}

// TestRestartedWorker has a worker that pushed, was restarted, and pushes again:
// its first push counts, on all servers.
func TestRestartedWorker(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2), Sync: &Sync{Aggregate: 2, Workers: 2}}, 2, ServerConfig{})
	ctx := testContext(t)
	first, second, other := b.gradients(1), b.gradients(2), b.gradients(3)
	for i, g := range [][]Gradient{first, second} {
		c := b.Client(1, ClientConfig{})
		if _, err := c.WaitReady(ctx, b.p); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Push(ctx, Push{Gradients: g}); err != nil || r.Stale != (i == 1) {
			t.Fatalf("push %d: %+v, %v", i, r, err)
		}
	}
	if _, err := b.c.Push(ctx, Push{Gradients: other}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.c.WaitStep(ctx, 1); err != nil {
		t.Fatal(err)
	}
	one := newReference(t, b.job)
	one.run(other, first)
	compare(t, b.mirror(t, b.c).tensors, one.all(), 1e-6)
}

// TestWeights uses workers' batches of different size, one of them empty, and the
// mean of assignments.
func TestWeights(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Sync: &Sync{Aggregate: 3, Workers: 3}}, 3, ServerConfig{})
	ctx := testContext(t)
	scalar := func(x float32) *tensor.Tensor { return tensor.Scalar(x) }
	pushes := []Push{
		{Weight: 3, Gradients: []Gradient{{Variable: "b", Value: scalar(1)}}, Assign: []Assignment{{"mean", vector(1, 2, 3, 4)}, {"count", tensor.Scalar(int64(5))}}},
		{Weight: 1, Gradients: []Gradient{{Variable: "b", Value: scalar(5)}}, Assign: []Assignment{{"mean", vector(5, 6, 7, 8)}, {"count", tensor.Scalar(int64(9))}}},
		{},
	}
	var wg sync.WaitGroup
	for i, x := range pushes {
		c := b.Client(i, ClientConfig{})
		wg.Go(func() {
			if _, err := c.WaitReady(ctx, b.p); err != nil {
				t.Error(err)
			}
			if _, err := c.Push(ctx, x); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := b.c.WaitStep(ctx, 1); err != nil {
		t.Fatal(err)
	}
	m := b.mirror(t, b.c)
	got := map[string]*tensor.Tensor{"b": m.Tensor("b"), "mean": m.Tensor("mean"), "count": m.Tensor("count")}
	want := float32(b.first["b"].Float(0)) - 0.01*2
	compare(t, got, map[string]*tensor.Tensor{"b": scalar(want), "mean": vector(2, 3, 4, 5), "count": tensor.Scalar(int64(5))}, 1e-6)
}

func vector(x ...float32) *tensor.Tensor {
	t, _ := tensor.FromSlice(x, len(x))
	return t
}

// TestRoundWaits disconnects the servers from each other for a while: the step is
// finished when they are connected again.
func TestRoundWaits(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Sync: &Sync{Aggregate: 1, Workers: 1}}, 1, ServerConfig{})
	ctx := testContext(t)
	b.Faults.Cut(b.Tasks[0], b.Tasks[1])
	g := b.gradients(1)
	if _, err := b.c.Push(ctx, Push{Gradients: g}); err != nil {
		t.Fatal(err)
	}
	b.Faults.Heal(b.Tasks[0], b.Tasks[1])
	if p, err := b.c.WaitStep(ctx, 1); err != nil || p.GlobalStep != 1 {
		t.Fatal(p, err)
	}
	one := newReference(t, b.job)
	one.run(g)
	compare(t, b.mirror(t, b.c).tensors, one.all(), 1e-6)
}

// TestRoundFails has a server that is gone when a step should be finished: all
// workers get an error that names it, and none waits forever.
func TestRoundFails(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Sync: &Sync{Aggregate: 1, Workers: 1}}, 1, ServerConfig{Timeout: 300 * time.Millisecond})
	ctx := testContext(t)
	b.Faults.Cut(b.Tasks[0], b.Tasks[1])
	if _, err := b.c.Push(ctx, Push{Gradients: b.gradients(1)}); err != nil {
		t.Fatal(err)
	}
	_, err := b.c.WaitStep(ctx, 1)
	if err == nil || !strings.Contains(err.Error(), "step 0 was not finished") || !strings.Contains(err.Error(), "/job:ps/task:1") {
		t.Errorf("got %v", err)
	}
	checkReset(t, err)
	_, err = b.c.Push(ctx, Push{Gradients: b.gradients(1)})
	checkReset(t, err)
}
