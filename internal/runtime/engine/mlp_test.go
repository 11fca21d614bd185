package engine

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// onDevices runs a test on every kind of device and closes them.
func onDevices(t *testing.T, f func(t *testing.T, dev device.Device)) {
	t.Helper()
	onEach(t, f, device.NewHost(), device.NewFake(), newTwin())
}

// onSplits is onDevices plus accelerators without some or all kernels.
func onSplits(t *testing.T, f func(t *testing.T, dev device.Device)) {
	t.Helper()
	onEach(t, f, append(splitTwins(), device.NewHost(), device.NewFake())...)
}

// splitTwins are accelerators that leave all, some or nothing to the host.
func splitTwins() []device.Device {
	none, odd, even := newTwin(), newTwin(), newTwin()
	none.name, odd.name, even.name = "none", "odd", "even"
	none.refuses = func(*Operation) bool { return true }
	odd.refuses = func(o *Operation) bool { return len(o.Node.Op)%2 == 1 }
	even.refuses = func(o *Operation) bool { return len(o.Node.Op)%2 == 0 }
	return []device.Device{newTwin(), none, odd, even}
}

// onGoDevices leaves accelerators out.
func onGoDevices(t *testing.T, f func(t *testing.T, dev device.Device)) {
	t.Helper()
	onEach(t, f, device.NewHost(), device.NewFake())
}

func onEach(t *testing.T, f func(t *testing.T, dev device.Device), devices ...device.Device) {
	t.Helper()
	for _, d := range devices {
		t.Run(d.Kind(), func(t *testing.T) {
			f(t, d)
			if err := d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func ok[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func dense[T tensor.Element](data []T, shape ...int) *tensor.Tensor {
	return ok(tensor.FromSlice(data, shape...))
}

func batchType(d tensor.DType, sizes ...int) graph.Type {
	return graph.Type{DType: d, Shape: graph.BatchOf(sizes...)}
}
func fixedType(d tensor.DType, sizes ...int) graph.Type {
	return graph.Type{DType: d, Shape: graph.ShapeOf(sizes...)}
}

// mlp is a two-layer classifier with its gradients and plain gradient descent, written by hand.
type mlp struct {
	g      *graph.Graph
	spec   Spec
	x, y   graph.Output
	logits graph.Output
	loss   graph.Output
}

func newMLP(d tensor.DType, in, hidden, classes int, rate float64) *mlp {
	m := &mlp{g: graph.New()}
	b := graph.NewBuilder(m.g)
	m.x = b.Placeholder("x", batchType(d, in))
	m.y = b.Placeholder("y", batchType(tensor.Int64))
	th, tl := batchType(d, hidden), batchType(d, classes)
	var handles, reads []graph.Output
	for _, v := range []struct {
		name  string
		sizes []int
	}{{"w1", []int{in, hidden}}, {"b1", []int{hidden}}, {"w2", []int{hidden, classes}}, {"b2", []int{classes}}} {
		h := b.Variable(v.name, fixedType(d, v.sizes...))
		handles = append(handles, h)
		reads = append(reads, b.Read(h, fixedType(d, v.sizes...)))
	}
	z := b.Op("BiasAdd", "BiasAdd", th, nil, b.Op("MatMul", "MatMul", th, nil, m.x, reads[0]), reads[1])
	h := b.Op("Relu", "Relu", th, nil, z)
	m.logits = b.Op("BiasAdd", "logits", tl, nil, b.Op("MatMul", "MatMul_1", tl, nil, h, reads[2]), reads[3])
	xent := b.Node("SparseSoftmaxCrossEntropyWithLogits", "xent", []graph.Type{batchType(d), tl}, nil, m.logits, m.y)
	axis := b.Const("axis", dense([]int32{0}, 1))
	m.loss = b.Op("Mean", "loss", fixedType(d), nil, xent.Out(0), axis)
	n := b.Op("Cast", "n", fixedType(d), nil, b.Op("Size", "size", fixedType(tensor.Int32), nil, m.y))
	dl := b.Op("RealDiv", "dl", tl, nil, xent.Out(1), n)
	dh := b.Op("MatMul", "dh", th, graph.Attrs{"transpose_b": true}, dl, reads[2])
	dz := b.Op("ReluGrad", "dz", th, nil, dh, z)
	grads := []graph.Output{
		b.Op("MatMul", "dw1", fixedType(d, in, hidden), graph.Attrs{"transpose_a": true}, m.x, dz),
		b.Op("BiasAddGrad", "db1", fixedType(d, hidden), nil, dz),
		b.Op("MatMul", "dw2", fixedType(d, hidden, classes), graph.Attrs{"transpose_a": true}, h, dl),
		b.Op("BiasAddGrad", "db2", fixedType(d, classes), nil, dl),
	}
	lr := b.Scalar("lr", d, rate)
	m.spec = Spec{Feeds: []graph.Output{m.x, m.y}, Fetches: []graph.Output{m.loss, m.logits}}
	for i, gr := range grads {
		m.spec.Targets = append(m.spec.Targets, b.Node("ResourceApplyGradientDescent", "apply", nil, nil, handles[i], lr, gr))
	}
	if b.Err() != nil {
		panic(b.Err())
	}
	return m
}

// variables makes the model's variables with small random values.
func (m *mlp) variables(t testing.TB, dev device.Device, seed uint64) *Variables {
	t.Helper()
	vars := ok(NewVariables(dev))
	r := rand.New(rand.NewPCG(seed, 1))
	for _, n := range m.g.Nodes() {
		if n.Op != "VarHandleOp" {
			continue
		}
		v := tensor.New(n.Attrs["dtype"].(tensor.DType), n.Attrs["shape"].(graph.Shape).At(0)...)
		fillRandom(r, v, 0.5)
		if err := vars.Create(n.Name, v); err != nil {
			t.Fatal(err)
		}
	}
	return vars
}

func fillRandom(r *rand.Rand, t *tensor.Tensor, scale float64) {
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = float32(r.NormFloat64() * scale)
	}
	for i := range tensor.Values[float64](t) {
		tensor.Values[float64](t)[i] = r.NormFloat64() * scale
	}
}

func TestLearnsXOR(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		m := newMLP(tensor.Float32, 2, 16, 2, 0.5)
		p := ok(Compile(m.g, m.spec, dev, m.variables(t, dev, 7), Options{Capacity: 4}))
		feeds := []*tensor.Tensor{dense([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2), dense([]int64{0, 1, 1, 0}, 4)}
		for range 500 {
			if err := p.Run(context.Background(), 4, feeds); err != nil {
				t.Fatal(err)
			}
		}
		var loss tensor.Tensor
		if err := p.Fetch(0, &loss); err != nil {
			t.Fatal(err)
		}
		if l := tensor.Values[float32](&loss)[0]; !(l < 0.05) {
			t.Errorf("loss after 500 steps: expected < 0.05, got %v", l)
		}
		if got := p.Value(1).Shape; len(got) != 2 || got[0] != 4 || got[1] != 2 {
			t.Errorf("logits: expected shape [4 2], got %v", got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSteadyStepDoesNotAllocate is the training step with feeds and fetches.
func TestSteadyStepDoesNotAllocate(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		m := newMLP(tensor.Float32, 64, 128, 10, 0.1)
		p := ok(Compile(m.g, m.spec, dev, m.variables(t, dev, 1), Options{Capacity: 32}))
		feeds := []*tensor.Tensor{tensor.New(tensor.Float32, 32, 64), tensor.New(tensor.Int64, 32)}
		fillRandom(rand.New(rand.NewPCG(3, 3)), feeds[0], 1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var loss, logits tensor.Tensor
		step := func() {
			if err := errors.Join(p.Run(ctx, 32, feeds), p.Fetch(0, &loss), p.Fetch(1, &logits)); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			step()
		}
		if n := testing.AllocsPerRun(50, step); n != 0 {
			t.Errorf("allocations in a step: expected 0, got %v", n)
		}
	})
}

// TestDeterministic checks that two trainings are equal bit for bit.
func TestDeterministic(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		train := func() map[string]*tensor.Tensor {
			m := newMLP(tensor.Float32, 40, 96, 10, 0.1)
			vars := m.variables(t, dev, 5)
			p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 64}))
			r := rand.New(rand.NewPCG(9, 9))
			for i := range 20 {
				n := 64 - i%3
				feeds := []*tensor.Tensor{tensor.New(tensor.Float32, n, 40), tensor.New(tensor.Int64, n)}
				fillRandom(r, feeds[0], 1)
				for j := range n {
					tensor.Values[int64](feeds[1])[j] = r.Int64N(10)
				}
				if err := p.Run(context.Background(), n, feeds); err != nil {
					t.Fatal(err)
				}
			}
			return ok(vars.Snapshot())
		}
		a, b := train(), train()
		for name := range a {
			if string(a[name].Bytes) != string(b[name].Bytes) {
				t.Errorf("variable %s differs between two equal runs", name)
			}
			if v := tensor.Values[float32](a[name])[0]; math.IsNaN(float64(v)) {
				t.Errorf("variable %s is NaN", name)
			}
		}
	})
}
