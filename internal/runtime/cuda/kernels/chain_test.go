package kernels_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// chainGraph builds graphs of elementwise nodes.
type chainGraph struct {
	t     *testing.T
	g     *graph.Graph
	nodes []*graph.Node // elementwise ones
	feeds []graph.Output
}

func newChainGraph(t *testing.T) *chainGraph { return &chainGraph{t: t, g: graph.New()} }

func (c *chainGraph) add(n *graph.Node) graph.Output {
	c.t.Helper()
	n.Name = c.g.UniqueName(n.Op)
	if err := c.g.Add(n); err != nil {
		c.t.Fatal(err)
	}
	return n.Out(0)
}

func (c *chainGraph) feed(d tensor.DType, dims ...graph.Dim) graph.Output {
	v := c.add(&graph.Node{Op: "Placeholder", Outputs: []graph.Type{{DType: d, Shape: graph.Shape{Dims: dims}}}})
	c.feeds = append(c.feeds, v)
	return v
}

func (c *chainGraph) op(name string, d tensor.DType, s graph.Shape, in ...graph.Output) graph.Output {
	v := c.add(&graph.Node{Op: name, Inputs: in, Attrs: graph.Attrs{}, Outputs: []graph.Type{{DType: d, Shape: s}}})
	c.nodes = append(c.nodes, v.Node)
	return v
}

// hostRun computes outputs with the engine on the processor.
func (c *chainGraph) hostRun(batch int, outputs []graph.Output, feeds []*tensor.Tensor) []*tensor.Tensor {
	c.t.Helper()
	dev := device.NewHost()
	defer dev.Close()
	vars := must(engine.NewVariables(dev))
	defer vars.Close()
	p, err := engine.Compile(c.g, engine.Spec{Feeds: c.feeds, Fetches: outputs}, dev, vars, engine.Options{Capacity: batch})
	if err != nil {
		c.t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(context.Background(), batch, feeds); err != nil {
		c.t.Fatal(err)
	}
	var out []*tensor.Tensor
	for i := range outputs {
		v := p.Value(i)
		out = append(out, &tensor.Tensor{DType: v.DType, Shape: v.Shape, Bytes: append([]byte(nil), v.Bytes...)})
	}
	return out
}

// tensors makes the feeds' values: normals, small integers or bools.
func tensors(feeds []graph.Output, batch int) []*tensor.Tensor {
	var out []*tensor.Tensor
	for i, f := range feeds {
		s := f.Type().Shape
		x := numbers(uint64(i+1), s.ElementsAt(batch))
		var t *tensor.Tensor
		switch f.DType() {
		case tensor.Float32:
			t = must(tensor.FromSlice(x, s.At(batch)...))
		case tensor.Float64:
			t = must(tensor.FromSlice(wide(x), s.At(batch)...))
		case tensor.Int32:
			t = must(tensor.FromSlice(mapped(x, func(v float32) int32 { return int32(v * 3) }), s.At(batch)...))
		case tensor.Int64:
			t = must(tensor.FromSlice(mapped(x, func(v float32) int64 { return int64(v * 3) }), s.At(batch)...))
		case tensor.Uint8:
			t = must(tensor.FromSlice(mapped(x, func(v float32) uint8 { return uint8(int(v*10) & 255) }), s.At(batch)...))
		case tensor.Bool:
			t = must(tensor.FromSlice(mapped(x, func(v float32) bool { return v > 0 }), s.At(batch)...))
		default:
			panic(f.DType())
		}
		out = append(out, t)
	}
	return out
}

func mapped[A, B any](x []A, f func(A) B) []B {
	y := make([]B, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// chainCase is a chain and how to compare its results.
type chainCase struct {
	name    string
	graph   *chainGraph
	outputs []graph.Output
}

// numbersOf returns a tensor's elements as float32.
func numbersOf(t *tensor.Tensor) []float32 {
	switch t.DType {
	case tensor.Float32:
		return tensor.Values[float32](t)
	case tensor.Float64:
		return narrow(tensor.Values[float64](t))
	case tensor.Int32:
		return mapped(tensor.Values[int32](t), func(v int32) float32 { return float32(v) })
	case tensor.Int64:
		return mapped(tensor.Values[int64](t), func(v int64) float32 { return float32(v) })
	case tensor.Uint8:
		return mapped(tensor.Values[uint8](t), func(v uint8) float32 { return float32(v) })
	}
	return mapped(t.Bytes, func(v byte) float32 { return float32(v) })
}

var b = graph.Batch

func fixed(n int) graph.Dim { return graph.Fixed(n) }

// broadcastCase has operands of every form of shape.
func broadcastCase(t *testing.T) chainCase {
	g := newChainGraph(t)
	full := graph.BatchOf(3, 4)
	x := g.feed(tensor.Float32, b, fixed(3), fixed(4))
	for _, dims := range [][]graph.Dim{{}, {fixed(4)}, {fixed(3), fixed(1)}, {fixed(1), fixed(3), fixed(4)}, {b, fixed(1), fixed(1)}, {b, fixed(1), fixed(4)}, {b, fixed(3), fixed(1)}, {fixed(1)}} {
		x = g.op("AddV2", tensor.Float32, full, x, g.feed(tensor.Float32, dims...))
	}
	y := g.op("Mul", tensor.Float32, full, x, x)
	return chainCase{"broadcast", g, []graph.Output{x, y}}
}

// typesCase has every element type, selections and comparisons.
func typesCase(t *testing.T) chainCase {
	g := newChainGraph(t)
	s := graph.BatchOf(5)
	img, ids, long, cond, x, d := g.feed(tensor.Uint8, b, fixed(5)), g.feed(tensor.Int32, b, fixed(5)), g.feed(tensor.Int64, fixed(5)), g.feed(tensor.Bool, b, fixed(5)), g.feed(tensor.Float32, b, fixed(5)), g.feed(tensor.Float64, b, fixed(5))
	f := g.op("Cast", tensor.Float32, s, img)
	sum := g.op("AddN", tensor.Float32, s, f, x, x)
	pick := g.op("SelectV2", tensor.Float32, s, cond, sum, x)
	long2 := g.op("Mul", tensor.Int64, s, g.op("Cast", tensor.Int64, s, ids), long)
	less := g.op("LogicalAnd", tensor.Bool, s, g.op("Less", tensor.Bool, s, x, pick), g.op("LogicalNot", tensor.Bool, s, cond))
	big := g.op("Maximum", tensor.Float64, s, d, g.op("Square", tensor.Float64, s, d))
	neg := g.op("Neg", tensor.Int32, s, g.op("Abs", tensor.Int32, s, ids))
	trunc := g.op("Cast", tensor.Int32, s, g.op("Exp", tensor.Float32, s, x))
	return chainCase{"types", g, []graph.Output{pick, long2, less, big, neg, trunc}}
}

// opsCase has every op with one or two float operands.
func opsCase(t *testing.T, d tensor.DType) chainCase {
	g := newChainGraph(t)
	s := graph.BatchOf(9)
	x, y := g.feed(d, b, fixed(9)), g.feed(d, b, fixed(9))
	positive := g.op("Exp", d, s, x)
	outputs := []graph.Output{positive}
	for _, name := range []string{"Neg", "Abs", "Sign", "Square", "Expm1", "Floor", "Ceil", "Round", "Erf", "Sin", "Cos", "Tanh", "Sigmoid", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu", "ZerosLike", "OnesLike", "Identity"} {
		outputs = append(outputs, g.op(name, d, s, x))
	}
	for _, name := range []string{"Sqrt", "Rsqrt", "Reciprocal", "Log", "Log1p"} {
		outputs = append(outputs, g.op(name, d, s, positive))
	}
	for _, name := range []string{"Sub", "RealDiv", "DivNoNan", "FloorDiv", "FloorMod", "Minimum", "SquaredDifference", "SigmoidGrad", "TanhGrad", "ReciprocalGrad",
		"ReluGrad", "Relu6Grad", "EluGrad", "SoftplusGrad", "SeluGrad", "SoftsignGrad", "LeakyReluGrad"} {
		outputs = append(outputs, g.op(name, d, s, x, y))
	}
	outputs = append(outputs, g.op("Pow", d, s, positive, y), g.op("SqrtGrad", d, s, positive, y), g.op("RsqrtGrad", d, s, positive, y))
	for _, name := range []string{"IsFinite", "IsNan", "IsInf"} {
		outputs = append(outputs, g.op(name, tensor.Bool, s, x))
	}
	return chainCase{"ops_" + d.String(), g, outputs}
}

// libraryCase has every op that is defined by a function of C's math library.
func libraryCase(t *testing.T, d tensor.DType) chainCase {
	g := newChainGraph(t)
	s := graph.BatchOf(9)
	x := g.feed(d, b, fixed(9))
	var outputs []graph.Output
	for _, op := range ops.Defs() {
		if op.Element.Libm != "" {
			outputs = append(outputs, g.op(op.Name, d, s, x))
		}
	}
	return chainCase{"library_" + d.String(), g, outputs}
}

func chainCases(t *testing.T) []chainCase {
	return []chainCase{broadcastCase(t), typesCase(t), opsCase(t, tensor.Float32), opsCase(t, tensor.Float64), libraryCase(t, tensor.Float32), libraryCase(t, tensor.Float64)}
}

func (c chainCase) chain(t *testing.T) *kernels.Chain {
	t.Helper()
	k, err := kernels.NewChain(c.graph.nodes, c.outputs)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestChains runs generated kernels on the emulated GPU against the engine on the host.
func TestChains(t *testing.T) {
	cases := chainCases(t)
	var chains []*kernels.Chain
	for _, c := range cases {
		chains = append(chains, c.chain(t))
	}
	r := newRig(t, "", kernels.ChainModule("chains", chains...))
	for i, c := range cases {
		for _, batch := range []int{1, 7, 100} {
			feeds := tensors(c.graph.feeds, batch)
			want := c.graph.hostRun(batch, c.outputs, feeds)
			at := map[graph.Output]driver.Ptr{}
			for k, f := range c.graph.feeds {
				at[f] = up(r, feeds[k].Bytes)
			}
			var in, out []driver.Ptr
			for _, v := range chains[i].Inputs {
				in = append(in, at[v])
			}
			for _, w := range want {
				out = append(out, r.alloc(len(w.Bytes)))
			}
			r.run(must(chains[i].Call(out, in, c.outputs[0].Type().Shape.ElementsAt(batch), kernels.Fault{})))
			for k, w := range want {
				got := &tensor.Tensor{DType: w.DType, Shape: w.Shape, Bytes: down[byte](r, out[k], len(w.Bytes))}
				near(t, fmt.Sprintf("%s, batch %d, %s", c.name, batch, c.outputs[k].Node.Name), numbersOf(w), numbersOf(got), 2e-6)
			}
		}
	}
}

// TestRoundingToBFloat16: numbers are rounded to nearest, ties to even; NaN and infinity stay.
func TestRoundingToBFloat16(t *testing.T) {
	g := newChainGraph(t)
	y := g.op("Cast", tensor.BFloat16, graph.BatchOf(1), g.feed(tensor.Float32, b, fixed(1)))
	c := must(kernels.NewChain(g.nodes, []graph.Output{y}))
	r := newRig(t, "", kernels.ChainModule("chains", c))
	x := append(numbers(1, 1000), 0, 1, -1, float32(math.Inf(1)), float32(math.NaN()), 1.00390625, 1.01171875, 3.4e38)
	half := r.alloc(2 * len(x))
	r.run(must(c.Call([]driver.Ptr{half}, []driver.Ptr{up(r, x)}, len(x), kernels.Fault{})))
	got := mapped(down[uint16](r, half, len(x)), func(v uint16) float32 { return math.Float32frombits(uint32(v) << 16) })
	for i, v := range x {
		w := float64(got[i])
		if math.IsNaN(float64(v)) != math.IsNaN(w) || math.Abs(float64(v)-w) > math.Abs(float64(v))/256 && v < 3e38 {
			t.Errorf("%g became %g", v, w)
		}
	}
	if tie := got[len(x)-3]; tie != 1 { // 1 + 2^-8 lies between 1 and 1 + 2^-7
		t.Errorf("tie: expected the even 1, got %g", tie)
	}
}

// TestChainsCompile compiles generated kernels for the GPUs, bfloat16 among them.
func TestChainsCompile(t *testing.T) {
	c, err := nvrtc.Open(dylib.WheelFolders(dylib.NVRTC, filepath.Join(testkit.Root(), ".venv"))...)
	if err != nil {
		t.Skipf("skipped: no CUDA compiler: %v", err)
	}
	half := newChainGraph(t)
	x := half.feed(tensor.BFloat16, b, fixed(8))
	y := half.op("Relu", tensor.BFloat16, graph.BatchOf(8), half.op("BiasAdd", tensor.BFloat16, graph.BatchOf(8), x, half.feed(tensor.BFloat16, fixed(8))))
	for _, k := range append(chainCases(t), chainCase{"bfloat16", half, []graph.Output{y}}) {
		c2 := k.chain(t)
		m := kernels.ChainModule(k.name, c2)
		for _, arch := range []nvrtc.Arch{80, 90} {
			if ptx, err := c.Compile(t.Context(), m.Source(), arch); err != nil || !strings.Contains(string(ptx), ".entry "+c2.Kernel.Name+"(") {
				t.Errorf("%s for sm_%d: %v", m.Name, arch, err)
			}
		}
	}
}

func TestChainsThatAreRefused(t *testing.T) {
	full := graph.BatchOf(4)
	for name, f := range map[string]func(g *chainGraph) []graph.Output{
		"not elementwise": func(g *chainGraph) []graph.Output {
			return []graph.Output{g.op("Softmax", tensor.Float32, full, g.feed(tensor.Float32, b, fixed(4)))}
		},
		"shape": func(g *chainGraph) []graph.Output {
			return []graph.Output{g.op("Add", tensor.Float32, full, g.feed(tensor.Float32, b, fixed(4)), g.feed(tensor.Float32, fixed(3)))}
		},
		"type": func(g *chainGraph) []graph.Output {
			return []graph.Output{g.op("Exp", tensor.Int32, full, g.feed(tensor.Int32, b, fixed(4)))}
		},
		"string": func(g *chainGraph) []graph.Output {
			return []graph.Output{g.op("Identity", tensor.String, full, g.feed(tensor.String, b, fixed(4)))}
		},
		"output from outside": func(g *chainGraph) []graph.Output {
			x := g.feed(tensor.Float32, b, fixed(4))
			g.op("Neg", tensor.Float32, full, x)
			return []graph.Output{x}
		},
		"smaller output": func(g *chainGraph) []graph.Output {
			x, y := g.feed(tensor.Float32, b, fixed(4)), g.feed(tensor.Float32, fixed(4))
			return []graph.Output{g.op("Neg", tensor.Float32, full, x), g.op("Neg", tensor.Float32, graph.ShapeOf(4), y)}
		},
		"batch inside": func(g *chainGraph) []graph.Output {
			s := graph.Shape{Dims: []graph.Dim{fixed(2), b}}
			return []graph.Output{g.op("Add", tensor.Float32, s, g.feed(tensor.Float32, fixed(2), b), g.feed(tensor.Float32, b))}
		},
		"nothing": func(g *chainGraph) []graph.Output { return nil },
	} {
		g := newChainGraph(t)
		outputs := f(g)
		if _, err := kernels.NewChain(g.nodes, outputs); err == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
}
