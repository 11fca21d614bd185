package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// gradients is the spec of newMLP that only computes gradients: w1, b1, w2, b2, then the loss.
func gradients(m *mlp) Spec {
	s := Spec{Feeds: m.spec.Feeds}
	for _, n := range m.spec.Targets {
		s.Fetches = append(s.Fetches, n.Inputs[2])
	}
	s.Fetches = append(s.Fetches, m.loss)
	return s
}

func mlpBatch(n, in int) []*tensor.Tensor {
	feeds := []*tensor.Tensor{tensor.New(tensor.Float32, n, in), tensor.New(tensor.Int64, n)}
	fillRandom(rand.New(rand.NewPCG(4, 4)), feeds[0], 1)
	return feeds
}

// TestOnFetch checks that every fetch is reported once, gradients of late layers first, that its bytes are then final for
// other goroutines too, and that the caller may overwrite them at once.
func TestOnFetch(t *testing.T) {
	onSplits(t, func(t *testing.T, dev device.Device) {
		m := newMLP(tensor.Float32, 6, 5, 3, 0.1)
		vars, feeds := m.variables(t, dev, 1), mlpBatch(4, 6)
		plain := ok(Compile(m.g, gradients(m), dev, vars, Options{Capacity: 4}))
		if err := plain.Run(bg, 4, feeds); err != nil {
			t.Fatal(err)
		}
		var order []int
		var p *Program
		opts := Options{Capacity: 4, OwnFetches: true, OnFetch: func(i int) {
			order = append(order, i)
			got := make(chan bool)
			go func() { got <- string(p.Value(i).Bytes) == string(plain.Value(i).Bytes) }()
			if !<-got {
				t.Errorf("fetch %d: expected %v, got %v", i, toND(plain.Value(i)).data, toND(p.Value(i)).data)
			}
			clear(p.Value(i).Bytes)
		}}
		p = ok(Compile(m.g, gradients(m), dev, vars, opts))
		for range 2 {
			order = nil
			if err := p.Run(bg, 4, feeds); err != nil {
				t.Fatal(err)
			}
			if want := []int{4, 3, 2, 1, 0}; !slices.Equal(order, want) && !slices.Equal(order, []int{4, 2, 3, 0, 1}) {
				t.Errorf("expected fetches in the order %v, got %v", want, order)
			}
		}
	})
}

// TestOwnFetches overwrites fetches that a program would share with feeds, constants, variables, each other and later
// nodes.
func TestOwnFetches(t *testing.T) {
	onSplits(t, func(t *testing.T, dev device.Device) {
		b := graph.NewBuilder(graph.New())
		typ := fixedType(tensor.Float32, 2)
		vars := ok(NewVariables(dev))
		if err := vars.Create("v", dense([]float32{5, 6}, 2)); err != nil {
			t.Fatal(err)
		}
		x := b.Placeholder("x", typ)
		c := b.Const("c", dense([]float32{3, 4}, 2))
		twice := b.Op("Add", "twice", typ, nil, c, c)
		v := b.Read(b.Variable("v", typ), typ)
		mid := b.Op("Neg", "mid", typ, nil, x)
		shape := b.Op("Reshape", "shape", fixedType(tensor.Float32, 1, 2), nil, mid, b.Const("to", dense([]int32{1, 2}, 2)))
		last := b.Op("Neg", "last", typ, nil, mid)
		spec := Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{x, c, twice, v, mid, shape, last, last}}
		want := []float32{1, 3, 6, 5, -1, -1, 1, 1}
		var p *Program
		wipe := func(i int) {
			if got := tensor.Values[float32](p.Value(i)); got[0] != want[i] {
				t.Errorf("fetch %d: expected %v, got %v", i, want[i], got)
			}
			fillRandom(rand.New(rand.NewPCG(1, 1)), p.Value(i), 1)
		}
		feed := dense([]float32{1, 2}, 2)
		for _, while := range []bool{true, false} {
			opts := Options{OwnFetches: true}
			if while {
				opts.OnFetch = wipe
			}
			p = ok(Compile(b.Graph, spec, dev, vars, opts))
			for range 3 {
				if err := p.Run(bg, 1, []*tensor.Tensor{feed}); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if !while {
						wipe(i)
					}
				}
			}
		}
		if f := tensor.Values[float32](feed); f[0] != 1 || f[1] != 2 {
			t.Errorf("the feed was changed to %v", f)
		}
	})
}

// TestOnFetchOfAFailedRun checks that a run that fails invalidates the fetches that it has reported.
func TestOnFetchOfAFailedRun(t *testing.T) {
	m := newMLP(tensor.Float32, 3, 4, 2, 0.1)
	dev := device.NewHost()
	ctx, cancel := context.WithCancel(bg)
	reported := 0
	p := ok(Compile(m.g, gradients(m), dev, m.variables(t, dev, 1), Options{OnFetch: func(int) { reported++; cancel() }}))
	if err := p.Run(ctx, 1, mlpBatch(1, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("expected a cancelled run, got %v", err)
	}
	if reported != 1 || p.Value(4) != nil {
		t.Errorf("expected one fetch reported and none kept, got %d and %v", reported, p.Value(4))
	}
}

// TestOnFetchDoesNotAllocate is a step of gradients.
func TestOnFetchDoesNotAllocate(t *testing.T) {
	m := newMLP(tensor.Float32, 6, 5, 3, 0.1)
	dev, feeds, sum := device.NewHost(), mlpBatch(4, 6), 0
	p := ok(Compile(m.g, gradients(m), dev, m.variables(t, dev, 1), Options{OwnFetches: true, OnFetch: func(i int) { sum += i }}))
	step := func() {
		if err := p.Run(bg, 4, feeds); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("expected 0 allocations, got %v", n)
	}
}

// ExampleOptions reduces gradients while others are computed.
func ExampleOptions() {
	dev := device.NewHost()
	vars := ok(NewVariables(dev))
	b := graph.NewBuilder(graph.New())
	rows := batchType(tensor.Float32, 2)
	x := b.Placeholder("x", rows)
	y := b.Op("Square", "y", rows, nil, x)
	z := b.Op("Neg", "z", rows, nil, y)
	var p *Program
	p = ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{z, y}}, dev, vars, Options{
		OwnFetches: true,
		OnFetch:    func(i int) { fmt.Println(i, tensor.Values[float32](p.Value(i))) },
	}))
	fmt.Println(p.Run(bg, 1, []*tensor.Tensor{dense([]float32{2, 3}, 1, 2)}))
	// Output:
	// 1 [4 9]
	// 0 [-4 -9]
	// <nil>
}
