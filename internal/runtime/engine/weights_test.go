package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// tailGraph is a chain of layers over images [B,5,4,c] or rows [B,c] with parameters in variables, as in inference.
type tailGraph struct {
	*graph.Builder
	d      tensor.DType
	x      graph.Output
	values []graph.Output // all that is computed
	last   graph.Output
	vars   []string
	types  []graph.Type
}

func (g *tailGraph) param(name string, sizes ...int) graph.Output {
	t := fixedType(g.d, sizes...)
	g.vars, g.types = append(g.vars, name), append(g.types, t)
	return g.Read(g.Variable(name, t), t)
}

func (g *tailGraph) put(op, name string, t graph.Type, attrs graph.Attrs, in ...graph.Output) graph.Output {
	n := g.Node(op, name, []graph.Type{t}, attrs, in...)
	g.last = n.Out(0)
	g.values = append(g.values, g.last)
	return g.last
}

// drawTails draws layers: a product or convolution, then any of a bias, a normalization, an addition and ReLU. The same
// draws make the same graph for another element type.
func drawTails(t *rapid.T) func(d tensor.DType) *tailGraph {
	images := rapid.Bool().Draw(t, "images")
	type layer struct{ bias, norm, add, relu, transposed bool }
	layers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) layer {
		flag := func(s string) bool { return rapid.Bool().Draw(t, s) }
		return layer{flag("bias"), images && flag("norm"), flag("add"), flag("relu"), !images && flag("transposed")}
	}), 1, 4).Draw(t, "layers")
	channels := rapid.IntRange(1, 19).Draw(t, "channels")
	return func(d tensor.DType) *tailGraph {
		g := &tailGraph{Builder: graph.NewBuilder(graph.New()), d: d}
		typ := batchType(d, channels)
		if images {
			typ = batchType(d, 5, 4, channels)
		}
		g.x = g.Placeholder("x", typ)
		g.last = g.x
		for i, l := range layers {
			name := func(s string) string { return fmt.Sprint(s, i) }
			before, c := g.last, channels
			switch {
			case images:
				g.put("Conv2D", name("conv"), typ, graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME")}, before, g.param(name("w"), 3, 3, c, c))
			case l.transposed:
				g.put("MatMul", name("product"), typ, graph.Attrs{"transpose_b": true}, before, g.param(name("w"), c, c))
			default:
				g.put("MatMul", name("product"), typ, nil, before, g.param(name("w"), c, c))
			}
			if l.bias {
				g.put("BiasAdd", name("bias"), typ, nil, g.last, g.param(name("b"), c))
			}
			if l.norm {
				ct := fixedType(d, c)
				n := g.Node("FusedBatchNormV3", name("norm"), []graph.Type{typ, ct, ct, ct, ct, fixedType(d)}, graph.Attrs{"epsilon": float32(0.01), "is_training": false},
					g.last, g.param(name("gamma"), c), g.param(name("beta"), c), g.param(name("mean"), c), g.param(name("variance"), c))
				g.last = n.Out(0)
				g.values = append(g.values, g.last)
			}
			if l.add {
				g.put("AddV2", name("add"), typ, nil, before, g.last)
			}
			if l.relu {
				g.put("Relu", name("relu"), typ, nil, g.last)
			}
		}
		if g.Err() != nil {
			panic(g.Err())
		}
		return g
	}
}

// variables makes the parameters; variances are positive.
func (g *tailGraph) variables(dev device.Device, seed uint64) *Variables {
	vars := ok(NewVariables(dev))
	for i, name := range g.vars {
		if err := vars.Create(name, randomParam(g.types[i], name, seed)); err != nil {
			panic(err)
		}
	}
	return vars
}

func randomParam(t graph.Type, name string, seed uint64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, uint64(len(name))))
	v := newND(t.Shape.At(0))
	for i := range v.data {
		v.data[i] = r.NormFloat64() * .3
		if strings.HasPrefix(name, "variance") {
			v.data[i] = .1 + math.Abs(v.data[i])
		}
	}
	return fromND(t.DType, v)
}

func (g *tailGraph) run(dev device.Device, fetches []graph.Output, x nd) ([]nd, *Program) {
	p := ok(Compile(g.Graph, Spec{Feeds: []graph.Output{g.x}, Fetches: fetches}, dev, g.variables(dev, 3), Options{}))
	if err := p.Run(bg, x.shape[0], []*tensor.Tensor{fromND(g.d, x)}); err != nil {
		panic(err)
	}
	out := make([]nd, len(fetches))
	for i := range out {
		out[i] = toND(p.Value(i))
	}
	return out, p
}

// TestSteadyFusion compares inference with packed weights and fused epilogues with the same ops one by one (all are
// fetched), in both float types, and with the ops in float64.
func TestSteadyFusion(t *testing.T) {
	for _, fresh := range []func() device.Device{device.NewHost, device.NewFake} {
		t.Run(fresh().Kind(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				dev := fresh()
				defer dev.Close()
				build := drawTails(t)
				g64 := build(tensor.Float64)
				x := newND(g64.x.Type().Shape.At(rapid.IntRange(1, 4).Draw(t, "rows")))
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				for i := range x.data {
					x.data[i] = float64(float32(r.NormFloat64()))
				}
				all, _ := g64.run(dev, g64.values, x)
				want, largest := all[len(all)-1], 1.0
				for _, v := range all {
					for _, e := range v.data {
						largest = max(largest, math.Abs(e)) // sums of such numbers may cancel
					}
				}
				for d, tol := range map[tensor.DType]float64{tensor.Float64: 1e-13, tensor.Float32: 2e-5} {
					g := build(d)
					got, p := g.run(dev, []graph.Output{g.last}, x)
					for _, op := range opsOf(p) {
						if !strings.HasPrefix(op, "_Fused") && op != "Conv2D" && op != "MatMul" {
							t.Fatalf("expected every %v to be fused, got %v", op, opsOf(p))
						}
					}
					for i, w := range want.data {
						if v := got[0].data[i]; math.Abs(v-w) > tol*largest {
							t.Fatalf("%v, element %d: expected %v, got %v (%v)", d, i, w, v, opsOf(p))
						}
					}
					if err := p.Close(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// square is y = x*w for w of [2,2], and an update of w to twice its value.
func square(t *testing.T, dev device.Device) (infer, train func() *Program, vars *Variables) {
	vars = ok(NewVariables(dev))
	typ := fixedType(tensor.Float32, 2, 2)
	if err := vars.Create("w", dense([]float32{1, 2, 3, 4}, 2, 2)); err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", batchType(tensor.Float32, 2))
	w := b.Variable("w", typ)
	read := b.Read(w, typ)
	y := b.Op("MatMul", "y", x.Type(), nil, x, read)
	add := b.Node("AssignAddVariableOp", "add", nil, nil, w, read)
	return func() *Program {
			return ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, vars, Options{}))
		}, func() *Program {
			return ok(Compile(b.Graph, Spec{Targets: []*graph.Node{add}}, dev, vars, Options{}))
		}, vars
}

// TestWeightsFollowVariables updates weights by Set and by another program between runs.
func TestWeightsFollowVariables(t *testing.T) {
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		infer, train, vars := square(t, dev)
		p, q := infer(), infer()
		expect := func(want float32) {
			t.Helper()
			for _, p := range []*Program{p, q} {
				if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{1, 0}, 1, 2)}); err != nil {
					t.Fatal(err)
				}
				if got := tensor.Values[float32](p.Value(0)); got[0] != want {
					t.Errorf("expected %v, got %v", want, got[0])
				}
			}
		}
		expect(1)
		if err := train().Run(bg, 1, nil); err != nil {
			t.Fatal(err)
		}
		expect(2)
		if err := vars.Set("w", dense([]float32{7, 0, 0, 7}, 2, 2)); err != nil {
			t.Fatal(err)
		}
		expect(7)
		if n := len(vars.weights.all); n != 1 {
			t.Errorf("expected one form of the weights for two programs, got %d", n)
		}
		for _, p := range []*Program{p, q} {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := len(vars.weights.all); n != 0 {
			t.Errorf("expected no weights after the programs, got %d", n)
		}
	})
}

// TestInferenceWhileTraining runs inference on several goroutines while another program updates the weights: every
// result must come from a single version.
func TestInferenceWhileTraining(t *testing.T) {
	dev := device.NewHost()
	infer, train, _ := square(t, dev)
	trainer := train()
	var wg sync.WaitGroup
	for range 3 {
		p := infer()
		wg.Go(func() {
			for range 200 {
				if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{1, 1}, 1, 2)}); err != nil {
					t.Error(err)
					return
				}
				y := tensor.Values[float32](p.Value(0))
				if f, _ := math.Frexp(float64(y[0])); f != 0.5 || y[1] != y[0]*1.5 {
					t.Errorf("expected 4*2^n and 6*2^n, got %v", y)
					return
				}
			}
		})
	}
	for range 100 {
		if err := trainer.Run(bg, 1, nil); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

// TestUpdatedWeightsAreNotPacked checks that a program that updates its weights reads them directly.
func TestUpdatedWeightsAreNotPacked(t *testing.T) {
	dev := device.NewHost()
	m := newMLP(tensor.Float32, 3, 4, 2, .1)
	vars := m.variables(t, dev, 1)
	if p := ok(Compile(m.g, m.spec, dev, vars, Options{})); len(p.weights) != 0 {
		t.Errorf("expected no packed weights in training, got %v", p.weights)
	}
	if p := ok(Compile(m.g, Spec{Feeds: m.spec.Feeds[:1], Fetches: []graph.Output{m.logits}}, dev, vars, Options{})); len(p.weights) != 2 {
		t.Errorf("expected two packed weights in inference, got %v", p.weights)
	}
}

// TestInferenceDoesNotAllocate is a run with packed weights.
func TestInferenceDoesNotAllocate(t *testing.T) {
	dev := device.NewHost()
	m := newMLP(tensor.Float32, 64, 128, 10, .1)
	p := ok(Compile(m.g, Spec{Feeds: m.spec.Feeds[:1], Fetches: []graph.Output{m.logits}}, dev, m.variables(t, dev, 1), Options{}))
	feeds := mlpBatch(5, 64)[:1]
	step := func() {
		if err := p.Run(bg, 5, feeds); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("expected 0 allocations, got %v", n)
	}
}

// TestEmptyWeights multiplies by matrices without rows or columns.
func TestEmptyWeights(t *testing.T) {
	dev := device.NewHost()
	for _, size := range [][2]int{{0, 3}, {3, 0}, {0, 0}} {
		b := graph.NewBuilder(graph.New())
		vars := ok(NewVariables(dev))
		if err := vars.Create("w", tensor.New(tensor.Float32, size[:]...)); err != nil {
			t.Fatal(err)
		}
		wt := fixedType(tensor.Float32, size[:]...)
		x := b.Placeholder("x", batchType(tensor.Float32, size[0]))
		y := b.Op("MatMul", "y", batchType(tensor.Float32, size[1]), nil, x, b.Read(b.Variable("w", wt), wt))
		z := b.Op("BiasAdd", "z", y.Type(), nil, y, b.Const("one", onesTensor(size[1])))
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{z}}, dev, vars, Options{}))
		if err := p.Run(bg, 2, []*tensor.Tensor{tensor.New(tensor.Float32, 2, size[0])}); err != nil {
			t.Fatal(err)
		}
		for _, v := range tensor.Values[float32](p.Value(0)) {
			if v != 1 {
				t.Errorf("%v: expected ones, got %v", size, tensor.Values[float32](p.Value(0)))
			}
		}
	}
}

func onesTensor(n int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, n)
	for i := range n {
		tensor.Values[float32](t)[i] = 1
	}
	return t
}
