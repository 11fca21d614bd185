package engine

import (
	"bytes"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestValuesStayOnTheDevice gives one program's results to another without the host, for batches of several sizes.
func TestValuesStayOnTheDevice(t *testing.T) { onEach(t, StayOn, splitTwins()...) }

// StayOn is TestValuesStayOnTheDevice on one accelerator.
func StayOn(t *testing.T, dev device.Device) {
	typ := graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(3)}
	op := func(name string) (*graph.Builder, Spec) {
		b := graph.NewBuilder(graph.New())
		x, y := b.Placeholder("x", typ), b.Placeholder("y", typ)
		z := b.Op(name, "z", typ, graph.Attrs{"T": typ.DType}, x, y)
		return b, Spec{Feeds: []graph.Output{x, y}, Fetches: []graph.Output{z}}
	}
	vars := ok(NewVariables(dev))
	add, spec := op("AddV2")
	first := ok(Compile(add.Graph, spec, dev, vars, Options{}))
	mul, spec := op("Mul")
	second := ok(Compile(mul.Graph, spec, dev, vars, Options{}))
	if err := first.Leave(1); err == nil {
		t.Error("a fetch that is none: expected an error")
	}
	if err := first.Leave(0); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Place(0); err == nil {
		t.Error("before a run: expected an error")
	}
	for _, n := range []int{2, 5, 1} {
		x, y, want := make([]float32, 3*n), make([]float32, 3*n), make([]float32, 3*n)
		for i := range x {
			x[i], y[i] = float32(i), float32(n)
			want[i] = (x[i] + y[i]) * x[i]
		}
		tx, ty := dense(x, n, 3), dense(y, n, 3)
		if err := first.Run(bg, n, []*tensor.Tensor{tx, ty}); err != nil {
			t.Fatal(err)
		}
		if first.Value(0) != nil {
			t.Error("a fetch that was left has a value")
		}
		at := ok(first.Place(0))
		if err := second.RunOn(bg, n, []*tensor.Tensor{tensor.New(tensor.Float32, n, 3), tx}, []Resident{at, {}}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(second.Value(0).Bytes, dense(want, n, 3).Bytes) {
			t.Errorf("batch of %d: expected %v, got %v", n, want, tensor.Values[float32](second.Value(0)))
		}
	}
	if err := second.RunOn(bg, 1, nil, nil); err == nil {
		t.Error("no feeds: expected an error")
	}
	for _, p := range []*Program{first, second} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNothingStaysOnTheHost(t *testing.T) {
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	dev := device.NewHost()
	p := ok(Compile(m.g, m.spec, dev, m.variables(t, dev, 1), Options{}))
	defer p.Close()
	if p.Leave(0) == nil || p.RunOn(bg, 1, nil, nil) == nil {
		t.Error("expected errors: the host's values are the caller's to read")
	}
}
