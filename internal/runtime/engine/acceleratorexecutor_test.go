package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// refusing returns a twin without kernels for the given ops.
func refusing(ops ...string) *twin {
	d := newTwin()
	d.refuses = func(o *Operation) bool {
		return slices.Contains(ops, o.Node.Op) || slices.ContainsFunc(o.Body, func(n *graph.Node) bool { return slices.Contains(ops, n.Op) })
	}
	return d
}

// train runs some steps of the small classifier, and returns its variables and the last loss.
func train(t *testing.T, dev device.Device, opts Options) (map[string]*tensor.Tensor, *tensor.Tensor, *Program) {
	t.Helper()
	m := newMLP(tensor.Float32, 20, 33, 10, 0.1)
	vars := m.variables(t, dev, 5)
	opts.Capacity = 16
	p, err := Compile(m.g, m.spec, dev, vars, opts)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 12 {
		n := []int{16, 16, 7, 16, 40, 16}[i%6] // the fifth is beyond the capacity
		if err := p.Run(bg, n, mlpRowsOf(r, n, 20, 10)); err != nil {
			t.Fatal(err)
		}
	}
	return ok(vars.Snapshot()), p.Value(0).Clone(), p
}

func mlpRowsOf(r *rand.Rand, n, in, classes int) []*tensor.Tensor {
	feeds := []*tensor.Tensor{tensor.New(tensor.Float32, n, in), tensor.New(tensor.Int64, n)}
	fillRandom(r, feeds[0], 1)
	for j := range n {
		tensor.Values[int64](feeds[1])[j] = r.Int64N(int64(classes))
	}
	return feeds
}

func closeTo(t *testing.T, what string, got, want *tensor.Tensor, tol float64) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Fatalf("%s: expected %v, got %v", what, want.Shape, got.Shape)
	}
	for i := range want.Len() {
		g, w := got.Float(i), want.Float(i)
		if d := g - w; !(d <= tol*(1+max(w, -w)) && -d <= tol*(1+max(w, -w))) {
			t.Fatalf("%s, element %d: expected %v, got %v", what, i, w, g)
		}
	}
}

// TestTrainsAsTheHost checks that an accelerator trains like the host in every mode, whichever ops it does not support.
func TestTrainsAsTheHost(t *testing.T) {
	want, loss, _ := train(t, device.NewHost(), Options{})
	for _, c := range []struct {
		name        string
		unsupported []string
		opts        Options
		host        int
	}{
		{"whole", nil, Options{}, 0},
		{"product", []string{"MatMul"}, Options{}, 3},
		{"gradient", []string{"BiasAddGrad", "ReluGrad"}, Options{}, 3},
		{"update", []string{"ResourceApplyGradientDescent"}, Options{}, 4},
		{"loss", []string{"SparseSoftmaxCrossEntropyWithLogits"}, Options{}, 1},
		{"numerics", []string{"BiasAddGrad"}, Options{CheckNumerics: true}, 2},
		{"profile", []string{"BiasAddGrad"}, Options{Profile: true}, 2},
		{"phases", []string{"BiasAddGrad"}, Options{OnFetch: func(int) {}}, 2},
		{"nothing", []string{"_FusedMatMul", "MatMul", "BiasAdd", "Relu", "ReluGrad", "Mean", "RealDiv", "BiasAddGrad", "ResourceApplyGradientDescent", "SparseSoftmaxCrossEntropyWithLogits"}, Options{}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := refusing(c.unsupported...)
			got, l, p := train(t, d, c.opts)
			for name, w := range want {
				closeTo(t, name, got[name], w, 1e-5)
			}
			closeTo(t, "loss", l, loss, 1e-5)
			if steps := p.HostSteps(); c.host >= 0 && len(steps) != c.host || c.host < 0 && p.DeviceSteps() != 0 {
				t.Errorf("expected %d steps on the host, got %d, on the device %d: %v", c.host, len(steps), p.DeviceSteps(), steps)
			}
			for _, s := range p.HostSteps() {
				if !strings.Contains(s, "the twin has no kernel for") {
					t.Errorf("expected the reason in %q", s)
				}
			}
			if c.opts.Profile && p.Profile()[0].Count == 0 {
				t.Error("expected times")
			}
			if d.pinned.Load() == 0 {
				t.Error("expected page-locked memory for what the host computes")
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if d.pinned.Load() != 0 {
				t.Errorf("%d bytes are left", d.pinned.Load())
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// roomy is a twin that seems to have room for everything.
type roomy struct{ *twin }

func (d roomy) Alloc(n int) (device.Buffer, error) { return d.twin.Alloc(min(n, 1<<10)) }

// TestVariableTooLargeForTheHost checks that a host step on a variable that fits only on the accelerator is refused.
func TestVariableTooLargeForTheHost(t *testing.T) {
	d := roomy{refusing("L2Loss")}
	vars := ok(NewVariables(d))
	large := graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(1 << 46)}
	if err := vars.CreateZero("large", tensor.Float32, 1<<46); err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	loss := b.Op("L2Loss", "loss", graph.Type{DType: tensor.Float32}, graph.Attrs{"T": tensor.Float32}, b.Read(b.Variable("large", large), large))
	if _, err := Compile(b.Graph, Spec{Fetches: []graph.Output{loss}}, d, vars, Options{}); !errors.Is(err, device.ErrMemory) {
		t.Errorf("got %v, expected %v", err, device.ErrMemory)
	}
}

func TestHardPlacement(t *testing.T) {
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	d := refusing("BiasAddGrad")
	_, err := Compile(m.g, m.spec, d, m.variables(t, d, 1), Options{HardPlacement: true})
	var u *UnsupportedOpError
	if !errors.As(err, &u) || u.Op != "BiasAddGrad" || !strings.Contains(err.Error(), "node db1") || !strings.Contains(err.Error(), "node db2") {
		t.Errorf("expected both nodes named, got %v", err)
	}
	if _, err := Compile(m.g, m.spec, newTwin(), m.variables(t, newTwin(), 1), Options{HardPlacement: true}); err != nil {
		t.Errorf("nothing is unsupported: %v", err)
	}
}

// TestFaults checks that a kernel's fault names the node and leaves the variables unchanged, and that the program goes on.
func TestFaults(t *testing.T) {
	for _, unsupported := range []string{"", "BiasAddGrad"} {
		m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
		d := refusing(unsupported)
		vars := m.variables(t, d, 1)
		p := ok(Compile(m.g, m.spec, d, vars, Options{Capacity: 4}))
		before := ok(vars.Snapshot())
		x := dense([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
		err := p.Run(bg, 4, []*tensor.Tensor{x, dense([]int64{0, 1, 7, 0}, 4)})
		if err == nil || !strings.Contains(err.Error(), "node xent (SparseSoftmaxCrossEntropyWithLogits)") {
			t.Errorf("expected an error with the node's name, got %v", err)
		}
		for name, v := range ok(vars.Snapshot()) {
			if !bytes.Equal(v.Bytes, before[name].Bytes) {
				t.Errorf("variable %s changed", name)
			}
		}
		if p.Value(0) != nil {
			t.Error("expected no results")
		}
		if err := p.Run(bg, 4, []*tensor.Tensor{x, dense([]int64{0, 1, 1, 0}, 4)}); err != nil {
			t.Errorf("after the fault: %v", err)
		}
	}
}

// TestStopsBeforeUpdates cancels in a step on the host, before the updates: no variable changes.
func TestStopsBeforeUpdates(t *testing.T) {
	for _, c := range []struct {
		node, unsupported string
		stopped           bool
	}{{"db1", "BiasAddGrad", true}, {"apply_2", "ResourceApplyGradientDescent", false}} {
		m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
		d := refusing(c.unsupported)
		vars := m.variables(t, d, 1)
		p := ok(Compile(m.g, m.spec, d, vars, Options{Capacity: 4}))
		before := ok(vars.Snapshot())
		ctx, cancel := context.WithCancel(bg)
		stopAt(p, c.node, cancel)
		err := p.Run(ctx, 4, []*tensor.Tensor{dense([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2), dense([]int64{0, 1, 1, 0}, 4)})
		if errors.Is(err, context.Canceled) != c.stopped {
			t.Errorf("cancelled in %s: expected stopped %v, got %v", c.node, c.stopped, err)
		}
		for name, v := range ok(vars.Snapshot()) {
			if same := bytes.Equal(v.Bytes, before[name].Bytes); same != c.stopped {
				t.Errorf("cancelled in %s: variable %s unchanged: %v", c.node, name, same)
			}
		}
	}
}

// TestPanicOnTheHostSide checks that a panic in a step on the host names the step and leaves the accelerator idle.
func TestPanicOnTheHostSide(t *testing.T) {
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	d := refusing("BiasAddGrad")
	p := ok(Compile(m.g, m.spec, d, m.variables(t, d, 1), Options{Capacity: 4}))
	stopAt(p, "db2", func() { panic("boom") })
	err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{0, 1}, 1, 2), dense([]int64{1}, 1)})
	var e *PanicError
	if !errors.As(err, &e) || e.Node != "db2" {
		t.Errorf("expected a PanicError of node db2, got %v", err)
	}
}

// TestWorkspaceGrows gives small batches larger workspaces than the capacity has.
func TestWorkspaceGrows(t *testing.T) {
	d := newTwin()
	d.room = func(_ *Operation, batch int) int { return 1000 / batch }
	p := ok(double(d, Options{Capacity: 8}))
	for _, n := range []int{8, 1, 3, 20, 1} {
		if err := p.Run(bg, n, []*tensor.Tensor{tensor.New(tensor.Float32, n, 3)}); err != nil {
			t.Fatalf("batch of %d: %v", n, err)
		}
	}
	if binds := d.codes[0].binds; binds != 5 {
		t.Errorf("expected a Bind for each change, 5, got %d", binds)
	}
}

// TestAcceleratorNumerics checks that errors name nodes, variables and feeds, on either side.
func TestAcceleratorNumerics(t *testing.T) {
	for _, unsupported := range []string{"", "Log"} {
		d := refusing(unsupported)
		s := newScene(t, d, map[string]float32{"v": 1})
		x := s.Placeholder("x", fixedType(tensor.Float32))
		y := s.op("Mul", s.op("Log", x), s.read("v"))
		p := ok(Compile(s.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, d, s.vars, Options{CheckNumerics: true}))
		for _, c := range []struct {
			x, v float32
			node string
		}{{1, 1, ""}, {-1, 1, "log"}, {nan(), 1, "x"}, {1, nan(), "v"}} {
			if err := s.vars.Set("v", dense([]float32{c.v})); err != nil {
				t.Fatal(err)
			}
			err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{c.x})})
			var e *NumericsError
			if c.node == "" && err != nil || c.node != "" && (!errors.As(err, &e) || !strings.HasPrefix(e.Node, c.node) || !e.NaN) {
				t.Errorf("x=%v, v=%v without %q: expected node %q, got %v", c.x, c.v, unsupported, c.node, err)
			}
		}
	}
}

func nan() float32 { z := float32(0); return z / z }

// TestAnySplit compares random graphs on the host and on a twin without kernels for a random set of ops.
func TestAnySplit(t *testing.T) {
	host := device.NewHost()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		x := drawRows(t, rapid.IntRange(1, 6).Draw(t, "rows"))
		var some []graph.Output
		for i, v := range g.values {
			if i == len(g.values)-1 || rapid.IntRange(0, 4).Draw(t, "fetch") == 0 {
				some = append(some, v)
			}
		}
		seed, share := rapid.Uint32().Draw(t, "set"), rapid.Uint32Range(0, 10).Draw(t, "share")
		d := newTwin()
		defer d.Close()
		d.refuses = func(o *Operation) bool {
			h := fnv.New32()
			fmt.Fprint(h, seed, o.Node.Name, len(o.Body))
			return h.Sum32()%10 < share
		}
		capacity := rapid.IntRange(1, 9).Draw(t, "capacity")
		want, v1 := g.run(t, host, some, capacity, x)
		got, v2 := g.run(t, d, some, capacity, x)
		for i, w := range append(want, v1) {
			closeRapid(t, append(got, v2)[i], w)
		}
	})
}

func closeRapid(t *rapid.T, got, want *tensor.Tensor) {
	for i := range want.Len() {
		g, w := got.Float(i), want.Float(i)
		if d := g - w; !(d <= 1e-5*(1+max(w, -w)) && -d <= 1e-5*(1+max(w, -w))) && !(g != g && w != w) && g != w {
			t.Fatalf("element %d: expected %v, got %v", i, w, g)
		}
	}
}

// TestFusionsAreConvex checks that two ops are not fused if an op outside of the fusion lies between them.
func TestFusionsAreConvex(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	row := batchType(tensor.Float32, 4)
	x := b.Placeholder("x", row)
	e := b.Op("Exp", "e", row, nil, x)
	id := b.Op("Identity", "id", row, nil, e)
	n := b.Op("Neg", "n", row, nil, id)
	s := b.Op("Softmax", "s", row, nil, n)
	y := b.Op("Mul", "y", row, nil, s, e)
	z := b.Op("Sub", "z", row, nil, y, b.Scalar("one", tensor.Float32, 1))
	d := newTwin()
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{z, n}}, d, ok(NewVariables(d)), Options{Capacity: 2}))
	var got []string
	for _, o := range d.codes[0].ops {
		got = append(got, fmt.Sprint(o.o.Node.Op, len(o.o.Body), len(o.o.Sources), len(o.o.Results)))
	}
	if label := p.byFrequency[perRun][0].op.label(); label != "Exp+Neg" {
		t.Errorf("expected the parts in the label, got %s", label)
	}
	if want := []string{"_Elementwise2 1 2", "Softmax0 0 0", "_Elementwise2 3 1"}; !slices.Equal(got, want) {
		t.Errorf("expected %v, got %v", want, got)
	}
	if err := p.Run(bg, 2, []*tensor.Tensor{tensor.New(tensor.Float32, 2, 4)}); err != nil || p.Value(0).Float(0) != -0.75 || p.Value(1).Float(3) != -1 {
		t.Errorf("expected -0.75 and -1, got %v %v, %v", p.Value(0), p.Value(1), err)
	}
}
