package engine

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestEnqueue trains without waiting, and compares with runs one by one. Meanwhile another program and a goroutine read the
// variables.
func TestEnqueue(t *testing.T) { onSplits(t, EnqueueOn) }

// EnqueueOn is TestEnqueue on one device.
func EnqueueOn(t *testing.T, dev device.Device) {
	m := newMLP(tensor.Float32, 5, 7, 3, 0.1)
	var results [2]map[string]*tensor.Tensor
	for way := range results {
		vars := m.variables(t, dev, 2)
		p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 4}))
		look := ok(Compile(m.g, Spec{Feeds: []graph.Output{m.x}, Fetches: []graph.Output{m.logits}}, dev, vars, Options{Capacity: 4}))
		r := rand.New(rand.NewPCG(1, 1))
		x := mlpRowsOf(rand.New(rand.NewPCG(2, 2)), 4, 5, 3)[:1]
		for i := range 20 {
			n := []int{4, 4, 4, 2, 6}[i/4]
			feeds := mlpRowsOf(r, n, 5, 3)
			if way == 0 || i%7 == 6 {
				if err := p.Run(bg, n, feeds); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := p.Enqueue(bg, ok(p.Ahead(n, feeds))); err != nil {
				t.Fatal(err)
			}
			clear(feeds[0].Bytes)
			if i%3 == 0 {
				if err := look.Enqueue(bg, ok(look.Ahead(4, x))); err != nil {
					t.Fatal(err)
				}
			}
			if i%5 == 0 {
				ok(vars.Snapshot())
			}
		}
		if err := errors.Join(p.Wait(), look.Wait(), look.Run(bg, 4, x)); err != nil {
			t.Fatal(err)
		}
		results[way] = ok(vars.Snapshot())
		results[way]["logits"] = look.Value(0).Clone()
		if err := errors.Join(p.Close(), look.Close(), p.Wait()); err != nil {
			t.Error(err)
		}
	}
	for name, w := range results[0] {
		if !bytes.Equal(results[1][name].Bytes, w.Bytes) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestEnqueueFails checks that a fault is reported later, with the node's name, and that the program goes on.
func TestEnqueueFails(t *testing.T) {
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	d := newTwin()
	vars := m.variables(t, d, 1)
	p := ok(Compile(m.g, m.spec, d, vars, Options{Capacity: 4}))
	before := ok(vars.Snapshot())
	x := dense([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
	batch := func(label int64) *Ahead {
		return ok(p.Ahead(4, []*tensor.Tensor{x, dense([]int64{0, 1, label, 0}, 4)}))
	}
	for _, wait := range []func() error{
		p.Wait,
		func() error { return p.Run(bg, 4, []*tensor.Tensor{x, dense([]int64{0, 1, 1, 0}, 4)}) },
		func() error { ok(vars.Snapshot()); return p.Wait() },
	} {
		if err := p.Enqueue(bg, batch(7)); err != nil {
			t.Fatalf("expected the error later, got %v", err)
		}
		if err := wait(); err == nil || !strings.Contains(err.Error(), "node xent (SparseSoftmaxCrossEntropyWithLogits)") {
			t.Errorf("expected the node named, got %v", err)
		}
		for name, v := range ok(vars.Snapshot()) {
			if !bytes.Equal(v.Bytes, before[name].Bytes) {
				t.Errorf("variable %s changed", name)
			}
		}
	}
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	if err := p.Enqueue(cancelled, batch(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	used := batch(1)
	if err := errors.Join(p.Enqueue(bg, used), p.Wait()); err != nil {
		t.Errorf("after faults: %v", err)
	}
	if err := p.Enqueue(bg, used); err == nil {
		t.Error("twice: expected an error")
	}
	if err := errors.Join(p.Enqueue(bg, batch(1)), p.Reserve(9, nil), p.Enqueue(bg, batch(1)), p.Wait()); err != nil || p.Capacity() != 9 {
		t.Errorf("more room while runs are under way: %d rows, %v", p.Capacity(), err)
	}
	if bytes.Equal(ok(vars.Get("b2")).Bytes, before["b2"].Bytes) {
		t.Error("expected an update")
	}
	if err := errors.Join(p.Close(), vars.Close()); err != nil {
		t.Error(err)
	}
	if err := p.Enqueue(bg, used); err == nil {
		t.Error("closed: expected an error")
	}
}
