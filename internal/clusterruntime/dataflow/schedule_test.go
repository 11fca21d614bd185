package dataflow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// kernels compiles a graph of independent nodes, each with a kernel.
func kernels(t *testing.T, all ...eager.Kernel) *Program {
	t.Helper()
	g := graph.New()
	for i, k := range all {
		if err := g.Add(&graph.Node{Name: fmt.Sprint("n", i), Op: regions.Op, Attrs: graph.Attrs{regions.Kernel: k}}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Compile(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestParallel: slow nodes run concurrently, up to the limit, and an error ends the others.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		slow := func(ctx context.Context, _ *eager.Env, _, _ []eager.Value) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			defer func() {
				mu.Lock()
				now--
				mu.Unlock()
			}()
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		p := kernels(t, slow, slow, slow, slow, slow, slow)
		for parallel, took := range map[int]time.Duration{1: 6 * time.Second, 2: 3 * time.Second, 3: 2 * time.Second, 10: time.Second} {
			for range 20 { // also when their times are known
				began := time.Now()
				most = 0
				if err := p.Run(t.Context(), Step{Parallel: parallel}); err != nil || most != min(parallel, 6) || time.Since(began) != took {
					t.Fatalf("%d at the same time: %d ran, it took %v, %v: expected %v", parallel, most, time.Since(began), err, took)
				}
			}
		}
		wrong := errors.New("wrong")
		bad := func(context.Context, *eager.Env, []eager.Value, []eager.Value) error {
			time.Sleep(time.Second / 2)
			return wrong
		}
		began := time.Now()
		if err := kernels(t, slow, bad, slow).Run(t.Context(), Step{Parallel: 2}); !errors.Is(err, wrong) || time.Since(began) != time.Second/2 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// sums is a Program that receives n values and sends their sum.
func sums(t testing.TB, n int) *Program {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	number := graph.TypeOf(tensor.Float32)
	sum := b.Const("zero", tensor.Scalar(float32(0)))
	for i := range n {
		x := b.Op("_Recv", fmt.Sprint("in", i), number, graph.Attrs{"tensor_name": fmt.Append(nil, i), "tensor_type": tensor.Float32})
		sum = b.Op("AddV2", fmt.Sprint("sum", i), number, graph.Attrs{"T": tensor.Float32}, sum, x)
	}
	b.Node("_Send", "out", nil, graph.Attrs{"tensor_name": []byte("sum"), "T": tensor.Float32}, sum)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	p, err := Compile(b.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// full is a Rendezvous that has every item, and keeps the last one sent.
type full struct {
	item rendezvous.Item
	sent rendezvous.Item
	late bool // no item is available at once
}

func (g *full) Take(rendezvous.Key) (rendezvous.Item, bool) { return g.item, !g.late }

func (g *full) Recv(context.Context, rendezvous.Key) (rendezvous.Item, error) { return g.item, nil }

func (g *full) Send(_ rendezvous.Key, item rendezvous.Item) error {
	g.sent = item
	return nil
}

// TestRunsFollowEachOther: a run does not see values of an earlier one, whether that succeeded, or received anything at once.
func TestRunsFollowEachOther(t *testing.T) {
	const n = 5
	p := sums(t, n)
	for i := range 100 {
		g := &full{item: rendezvous.Item{Tensor: tensor.Scalar(float32(i)), Dead: i%3 == 1}, late: i%2 == 1}
		ctx, cancel := context.WithCancel(t.Context())
		if i%5 == 4 {
			cancel()
		}
		err := p.Run(ctx, Step{Rendezvous: g, Parallel: 2})
		switch {
		case i%5 == 4:
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("run %d, which is cancelled: %v", i, err)
			}
		case err != nil || g.sent.Dead != g.item.Dead || !g.sent.Dead && g.sent.Tensor.Float(0) != float64(n*i):
			t.Fatalf("run %d: sent %+v, %v", i, g.sent, err)
		}
		cancel()
	}
}

// TestAllocationsOfARun bounds the allocations for a run of an unchanged graph: the results of its kernels, and little more.
func TestAllocationsOfARun(t *testing.T) {
	const n = 20
	p, g := sums(t, n), &full{item: rendezvous.Item{Tensor: tensor.Scalar(float32(1))}}
	all := testing.AllocsPerRun(100, func() {
		if err := p.Run(context.Background(), Step{Rendezvous: g, Parallel: 2}); err != nil {
			t.Fatal(err)
		}
	})
	kernel, in, out := p.nodes[2].kernel, []eager.Value{{T: g.item.Tensor}, {T: g.item.Tensor}}, make([]eager.Value, 1)
	one := testing.AllocsPerRun(100, func() {
		if err := kernel(context.Background(), nil, in, out); err != nil {
			t.Fatal(err)
		}
	})
	if most := n*one + 20; all > most {
		t.Errorf("%v allocations, of them %v of the kernels: expected %v", all, n*one, most)
	}
}

// BenchmarkRun runs 100 small nodes in sequence.
func BenchmarkRun(b *testing.B) {
	p, g := sums(b, 100), &full{item: rendezvous.Item{Tensor: tensor.Scalar(float32(1))}}
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Run(b.Context(), Step{Rendezvous: g, Parallel: 2}); err != nil {
			b.Fatal(err)
		}
	}
}
