package engine

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

var bg = context.Background()

// double is a program of x*2 on rows of three.
func double(dev device.Device, opts Options) (*Program, error) {
	g := graph.New()
	b := graph.NewBuilder(g)
	x := b.Placeholder("x", batchType(tensor.Float32, 3))
	y := b.Op("Mul", "y", batchType(tensor.Float32, 3), nil, x, b.Scalar("two", tensor.Float32, 2))
	return Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), opts)
}

func TestCapacityGrows(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		p := ok(double(dev, Options{}))
		for _, n := range []int{1, 5, 2} {
			x := tensor.New(tensor.Float32, n, 3)
			tensor.Values[float32](x)[3*n-1] = 4
			if err := p.Run(bg, n, []*tensor.Tensor{x}); err != nil {
				t.Fatal(err)
			}
			if got := tensor.Values[float32](p.Value(0)); len(got) != 3*n || got[3*n-1] != 8 {
				t.Errorf("batch of %d: got %v", n, got)
			}
		}
		if p.Capacity() != 5 {
			t.Errorf("capacity: expected 5, got %d", p.Capacity())
		}
	})
}

// TestShrink gives memory up, also after a larger plan was refused.
func TestShrink(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		p := ok(double(dev, Options{Capacity: 100_000}))
		held, no := p.Memory(), errors.New("no")
		if err := p.Reserve(200_000, func(int) error { return no }); !errors.Is(err, no) {
			t.Fatalf("got %v", err)
		}
		for range 2 {
			if err := p.Shrink(1); err != nil || p.Capacity() != 1 || p.Memory() > held/100 {
				t.Errorf("%v: room for %d rows in %d bytes, of %d", err, p.Capacity(), p.Memory(), held)
			}
		}
	})
}

func TestFeedErrors(t *testing.T) {
	p := ok(double(device.NewHost(), Options{Capacity: 4}))
	short := tensor.New(tensor.Float32, 2, 3)
	short.Bytes = short.Bytes[:8]
	long := tensor.New(tensor.Float32, 2, 3)
	long.Bytes = append(long.Bytes, 0)
	twice := tensor.New(tensor.Float32, 2, 3)
	twice.Bytes = append(twice.Bytes, twice.Bytes...)
	for _, c := range []struct {
		name  string
		batch int
		feeds []*tensor.Tensor
		want  string
	}{
		{"a byte too many", 2, []*tensor.Tensor{long}, "got 25"},
		{"twice the bytes", 2, []*tensor.Tensor{twice}, "got 48"},
		{"type", 2, []*tensor.Tensor{tensor.New(tensor.Float64, 2, 3)}, "feed x:0: expected float32 [B,3] with B=2, got float64 [2 3]"},
		{"shape", 2, []*tensor.Tensor{tensor.New(tensor.Float32, 3, 3)}, "feed x:0: expected float32 [B,3] with B=2, got float32 [3 3]"},
		{"rank", 2, []*tensor.Tensor{tensor.New(tensor.Float32, 6)}, "got float32 [6]"},
		{"count", 2, nil, "expected 1 feeds, got 0"},
		{"nothing", 2, []*tensor.Tensor{nil}, "got nothing"},
		{"bytes", 2, []*tensor.Tensor{short}, "has 24 bytes, got 8"},
		{"batch", 0, []*tensor.Tensor{short}, "expected a batch of at least 1 row"},
	} {
		if err := p.Run(bg, c.batch, c.feeds); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected an error with %q, got %v", c.name, c.want, err)
		}
	}
	var dst tensor.Tensor
	if p.Value(0) != nil || p.Fetch(0, &dst) == nil || p.Fetch(1, &dst) == nil {
		t.Error("a program that has not run gave a result")
	}
}

// TestFeedWithoutCopy checks that an aligned host tensor is read in place, and an unaligned one through a copy.
func TestFeedWithoutCopy(t *testing.T) {
	p := ok(double(device.NewHost(), Options{Capacity: 2}))
	raw := tensor.New(tensor.Uint8, 25).Bytes
	for off := range 2 {
		x := &tensor.Tensor{DType: tensor.Float32, Shape: []int{2, 3}, Bytes: raw[off : off+24]}
		copy(x.Bytes, dense([]float32{1, 2, 3, 4, 5, 6}, 6).Bytes)
		if err := p.Run(bg, 2, []*tensor.Tensor{x}); err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[float32](p.Value(0)); got[5] != 12 {
			t.Errorf("offset %d: got %v", off, got)
		}
		if same := unsafe.SliceData(p.feeds[0].op.out[0].mem) == unsafe.SliceData(x.Bytes); same != (off == 0) {
			t.Errorf("offset %d: read in place: %v", off, same)
		}
	}
}

func TestCompileErrorsAreComplete(t *testing.T) {
	g := graph.New()
	b := graph.NewBuilder(g)
	x := b.Placeholder("x", batchType(tensor.Float32, 3))
	unfed := b.Placeholder("unfed", batchType(tensor.Float32, 3))
	bad := b.Op("NoSuchOp", "bad", batchType(tensor.Float32, 3), nil, x)
	text := b.Op("Identity", "text", batchType(tensor.String), nil, x)
	loose := b.Op("Relu", "loose", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}, nil, x)
	_, err := Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{bad, text, loose, unfed}}, device.NewHost(), ok(NewVariables(device.NewHost())), Options{})
	var unsupported *UnsupportedOpError
	if !errors.As(err, &unsupported) || unsupported.Op != "NoSuchOp" || !errors.Is(err, ErrNotFed) {
		t.Errorf("expected an UnsupportedOpError of NoSuchOp and ErrNotFed, got %v", err)
	}
	for _, want := range []string{"op NoSuchOp of node bad", "node text", "node loose", "unfed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q in: %v", want, err)
		}
	}
	conv := b.Op("Conv2D", "conv", batchType(tensor.Float32, 3), nil, x, x)
	mat := b.Op("MatMul", "mat", batchType(tensor.Float32, 3), nil, b.Scalar("s", tensor.Float32, 1), x)
	_, err = Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{conv, mat}}, device.NewHost(), ok(NewVariables(device.NewHost())), Options{})
	if err == nil || !strings.Contains(err.Error(), "node conv") || !strings.Contains(err.Error(), "node mat") {
		t.Errorf("expected both nodes named, got %v", err)
	}
}

func TestVariablesMustFit(t *testing.T) {
	dev := device.NewHost()
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	vars := ok(NewVariables(dev))
	if err := vars.Create("w1", tensor.New(tensor.Float32, 2, 4)); err != nil {
		t.Fatal(err)
	}
	_, err := Compile(m.g, m.spec, dev, vars, Options{})
	if !errors.Is(err, ErrVariable) {
		t.Fatalf("expected ErrVariable, got %v", err)
	}
	for _, want := range []string{"variable w1: the graph expects float32 [2,3], got float32 [2 4]", "variable b2 (node b2) was not created"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q in: %v", want, err)
		}
	}
}

// TestCheckNumericsPassesByOverflows: values computed from a node with graph.MayOverflow are not checked, all others are.
func TestCheckNumericsPassesByOverflows(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		g := graph.New()
		b := graph.NewBuilder(g)
		x := b.Placeholder("x", batchType(tensor.Float32))
		wild := b.Op("Log", "wild", batchType(tensor.Float32), graph.Attrs{graph.MayOverflow: true}, x)
		y := b.Op("Neg", "y", batchType(tensor.Float32), nil, wild)
		z := b.Op("Sqrt", "z", batchType(tensor.Float32), nil, x)
		p := ok(Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y, z}}, dev, ok(NewVariables(dev)), Options{CheckNumerics: true}))
		if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{0}, 1)}); err != nil {
			t.Error(err)
		}
		var bad *NumericsError
		if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{-1}, 1)}); !errors.As(err, &bad) || bad.Node != "z" {
			t.Errorf("got %v, expected node z", err)
		}
	})
}

func TestCheckNumerics(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		g := graph.New()
		b := graph.NewBuilder(g)
		x := b.Placeholder("x", batchType(tensor.Float32))
		y := b.Op("Exp", "y", batchType(tensor.Float32), nil, b.Op("Log", "log", batchType(tensor.Float32), nil, x))
		p := ok(Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{CheckNumerics: true}))
		for _, c := range []struct {
			in   float32
			node string
			nan  bool
		}{{1, "", false}, {-1, "log", true}, {0, "log", false}, {float32(math.NaN()), "x", true}} {
			err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{c.in}, 1)})
			var bad *NumericsError
			switch {
			case c.node == "" && err != nil:
				t.Errorf("%v: %v", c.in, err)
			case c.node != "" && (!errors.As(err, &bad) || bad.Node != c.node || bad.NaN != c.nan):
				t.Errorf("%v: expected node %s, NaN %v; got %v", c.in, c.node, c.nan, err)
			}
		}
	})
}

// TestCheckNumericsNamesTheSource: the error names the feed or variable that holds a NaN, even if the first op that computes
// with it reads it through ops that only rename it.
func TestCheckNumericsNamesTheSource(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		g := graph.New()
		b := graph.NewBuilder(g)
		vector := graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(1)}
		x := b.Placeholder("x", batchType(tensor.Float32))
		w := b.Read(b.Variable("w", vector), vector)
		var in [2]graph.Output
		for i, o := range []graph.Output{x, w} {
			in[i] = b.Op("StopGradient", "", o.Type(), nil, b.Op("Identity", "", o.Type(), nil, o))
		}
		y := b.Op("Add", "y", batchType(tensor.Float32), nil, in[0], in[1])
		vars := ok(NewVariables(dev))
		if err := vars.Create("w", dense([]float32{1}, 1)); err != nil {
			t.Fatal(err)
		}
		p := ok(Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, vars, Options{CheckNumerics: true}))
		nan := float32(math.NaN())
		for _, c := range []struct {
			x, w      float32
			fed, read bool
		}{{1, 1, false, false}, {nan, 1, true, false}, {1, nan, false, true}, {math.MaxFloat32, math.MaxFloat32, false, false}} {
			if err := vars.Set("w", dense([]float32{c.w}, 1)); err != nil {
				t.Fatal(err)
			}
			err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{c.x}, 1)})
			var bad *NumericsError
			if finite := c.x+c.w == 2; finite != (err == nil) || !finite && (!errors.As(err, &bad) || bad.Fed != c.fed || bad.Read != c.read) {
				t.Errorf("x %v, w %v: got %v, expected fed %t, read %t", c.x, c.w, err, c.fed, c.read)
			}
			if bad != nil && bad.Fed && bad.Node != "x" {
				t.Errorf("got node %s, expected x", bad.Node)
			}
		}
	})
}

// stopAt cancels a context from within a run: it is an op that the test adds to a program.
func stopAt(p *Program, node string, cancel func()) {
	for _, s := range p.steps {
		if s.op.node.Name == node {
			run := s.compute
			s.compute = func() error { cancel(); return run() }
		}
	}
}

// TestCancellation checks that a run stops between kernels before any variable is updated, and completes after the first
// update.
func TestCancellation(t *testing.T) {
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		for _, c := range []struct {
			node    string
			stopped bool
		}{{"dw1", true}, {"apply_2", false}} {
			m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
			vars := m.variables(t, dev, 1)
			p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 4}))
			before := ok(vars.Snapshot())
			ctx, cancel := context.WithCancel(bg)
			stopAt(p, c.node, cancel)
			x := dense([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
			err := p.Run(ctx, 4, []*tensor.Tensor{x, dense([]int64{0, 1, 1, 0}, 4)})
			if errors.Is(err, context.Canceled) != c.stopped {
				t.Errorf("cancelled in %s: expected stopped %v, got %v", c.node, c.stopped, err)
			}
			for name, v := range ok(vars.Snapshot()) {
				if same := string(v.Bytes) == string(before[name].Bytes); same != c.stopped {
					t.Errorf("cancelled in %s: variable %s unchanged: %v", c.node, name, same)
				}
			}
			if err := p.Run(ctx, 4, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("run with a cancelled context: got %v", err)
			}
		}
	})
}

func TestKernelErrorNamesNode(t *testing.T) {
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	p := ok(Compile(m.g, m.spec, device.NewHost(), m.variables(t, device.NewHost(), 1), Options{Capacity: 4}))
	err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{0, 0}, 1, 2), dense([]int64{2}, 1)})
	if err == nil || !strings.Contains(err.Error(), "node xent (SparseSoftmaxCrossEntropyWithLogits)") {
		t.Errorf("expected the node named, got %v", err)
	}
}

// TestFakeMemoryIsClosed checks that between runs on the fake device the host cannot reach a program's memory.
func TestFakeMemoryIsClosed(t *testing.T) {
	p := ok(double(device.NewFake(), Options{Capacity: 1}))
	if err := p.Run(bg, 1, []*tensor.Tensor{tensor.New(tensor.Float32, 1, 3)}); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("the host read the device's memory")
		}
	}()
	t.Log(p.fetched[0].value().mem[0])
}

// TestFedValueIsNotComputed feeds the result of an op that cannot run.
func TestFedValueIsNotComputed(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		b := graph.NewBuilder(graph.New())
		ft := batchType(tensor.Float32, 2)
		mid := b.Op("NoSuchOp", "mid", ft, nil, b.Placeholder("x", ft))
		y := b.Op("Neg", "y", ft, nil, mid)
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{mid}, Fetches: []graph.Output{y, mid}}, dev, ok(NewVariables(dev)), Options{}))
		if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{1, 2}, 1, 2)}); err != nil {
			t.Fatal(err)
		}
		if y, x := tensor.Values[float32](p.Value(0)), tensor.Values[float32](p.Value(1)); y[1] != -2 || x[1] != 2 {
			t.Errorf("got %v of %v", y, x)
		}
	})
}

func TestMergesEqualNodes(t *testing.T) {
	g := graph.New()
	b := graph.NewBuilder(g)
	ft := batchType(tensor.Float32, 3)
	x := b.Placeholder("x", ft)
	leaky := func(name string, alpha float32) graph.Output {
		return b.Op("LeakyRelu", name, ft, graph.Attrs{"alpha": alpha}, b.Op("Mul", name+"/mul", ft, nil, x, b.Scalar(name+"/c", tensor.Float32, 2)))
	}
	sum := b.Op("AddN", "sum", ft, nil, leaky("a", 0.5), leaky("b", 0.5), leaky("c", 0.25))
	p := ok(Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{sum}}, device.NewHost(), ok(NewVariables(device.NewHost())), Options{Profile: true}))
	if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{-1, 1, 2}, 1, 3)}); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](p.Value(0)); got[0] != -2.5 || got[2] != 12 {
		t.Errorf("got %v", got)
	}
	if times := p.Profile(); len(times) != 4 || times[3].Count != 1 || times[0].Op != "Mul" {
		t.Errorf("expected Mul, two LeakyRelu and AddN, got %v", times)
	}
}

// TestConstantsRunOnce checks that values that depend only on constants and the batch size are not computed in every run.
func TestConstantsRunOnce(t *testing.T) {
	g := graph.New()
	b := graph.NewBuilder(g)
	s := fixedType(tensor.Float32)
	x := b.Placeholder("x", batchType(tensor.Float32))
	k := b.Op("Exp", "k", s, nil, b.Scalar("one", tensor.Float32, 1))
	n := b.Op("Cast", "n", s, nil, b.Op("Size", "size", fixedType(tensor.Int32), nil, x))
	y := b.Op("Mul", "y", batchType(tensor.Float32), nil, x, b.Op("Mul", "kn", s, nil, k, n))
	p := ok(Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, device.NewHost(), ok(NewVariables(device.NewHost())), Options{Profile: true}))
	for _, batch := range []int{2, 2, 2, 3, 3} {
		feed := tensor.New(tensor.Float32, batch)
		tensor.Values[float32](feed)[0] = 1
		if err := p.Run(bg, batch, []*tensor.Tensor{feed}); err != nil {
			t.Fatal(err)
		}
		if got, want := tensor.Values[float32](p.Value(0))[0], math.E*float64(batch); math.Abs(float64(got)-want) > 1e-5 {
			t.Errorf("batch %d: expected %v, got %v", batch, want, got)
		}
	}
	want := map[string]int{"k": 2, "size": 2, "n": 2, "kn": 2, "y": 5} // k again since the program grew
	for _, e := range p.Profile() {
		if e.Count != want[e.Node] {
			t.Errorf("%s ran %d times, expected %d", e.Node, e.Count, want[e.Node])
		}
	}
}

// TestControlInputThatIsFed: a node to run after a fed value need not wait; after a placeholder that is not fed it cannot run.
func TestControlInputThatIsFed(t *testing.T) {
	g := graph.New()
	b := graph.NewBuilder(g)
	x, late := b.Placeholder("x", batchType(tensor.Float32, 3)), b.Placeholder("late", batchType(tensor.Float32, 3))
	y := b.Op("Relu", "y", batchType(tensor.Float32, 3), nil, x)
	y.Node.Control = []*graph.Node{late.Node}
	vars := ok(NewVariables(device.NewHost()))
	p, err := Compile(g, Spec{Feeds: []graph.Output{x, late}, Fetches: []graph.Output{y}}, device.NewHost(), vars, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := &tensor.Tensor{DType: tensor.Float32, Shape: []int{1, 3}, Bytes: dense([]float32{-1, 2, 3}, 3).Bytes}
	if err := p.Run(bg, 1, []*tensor.Tensor{in, in}); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](p.Value(0)); got[0] != 0 || got[2] != 3 {
		t.Errorf("got %v, expected [0 2 3]", got)
	}
	if _, err := Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, device.NewHost(), vars, Options{}); !errors.Is(err, ErrNotFed) {
		t.Errorf("got %v, expected ErrNotFed", err)
	}
}
