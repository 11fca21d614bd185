package engine

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// chained is neg(relu(2 - x*y)) * k, with the pieces to fetch.
func chained(dev device.Device, opts Options, more ...string) (*Program, []graph.Output) {
	b := graph.NewBuilder(graph.New())
	t := batchType(tensor.Float32, 3)
	x, y, k := b.Placeholder("x", t), b.Placeholder("y", t), b.Placeholder("k", graph.Type{DType: tensor.Float32})
	mul := b.Op("Mul", "mul", t, nil, x, y)
	sub := b.Op("Sub", "sub", t, nil, b.Scalar("two", tensor.Float32, 2), mul)
	relu := b.Op("Relu", "relu", t, nil, sub)
	last := b.Op("Mul", "last", t, nil, b.Op("Neg", "neg", t, nil, relu), k)
	spec := Spec{Feeds: []graph.Output{x, y, k}, Fetches: []graph.Output{last}}
	for _, name := range more {
		spec.Fetches = append(spec.Fetches, b.Graph.Node(name).Out(0))
	}
	return ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), opts)), spec.Fetches
}

// labelsOf returns the labels of the program's ops; a fusion's label names the ops in it.
func labelsOf(p *Program) (all []string) {
	for _, n := range p.Profile() {
		all = append(all, n.Op)
	}
	return all
}

// TestChains checks that a chain is one pass, that it can have a result in its middle, and that batches of several blocks
// and of one row give the results of the single ops.
func TestChains(t *testing.T) {
	const all = "Mul+Sub+Relu+Neg+Mul"
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		p, _ := chained(dev, Options{Profile: true})
		middle, _ := chained(dev, Options{Profile: true}, "sub")
		waited, _ := chained(dev, Options{Profile: true, OnFetch: func(int) {}}, "sub")
		for p, want := range map[*Program][]string{p: {all}, middle: {all}, waited: {"Mul+Sub", "Relu+Neg+Mul"}} {
			if got := labelsOf(p); !slices.Equal(got, want) {
				t.Errorf("expected %v, got %v", want, got)
			}
		}
		for _, n := range []int{1, 3 * regionBlock, 5} {
			feeds := []*tensor.Tensor{tensor.New(tensor.Float32, n, 3), tensor.New(tensor.Float32, n, 3), tensor.Scalar(float32(.5))}
			for i := range 3 * n {
				tensor.Values[float32](feeds[0])[i], tensor.Values[float32](feeds[1])[i] = float32(i%7)/4, float32(i%5)/2-1
			}
			x, y := tensor.Values[float32](feeds[0]), tensor.Values[float32](feeds[1])
			for _, p := range []*Program{p, middle} {
				if err := p.Run(bg, n, feeds); err != nil {
					t.Fatal(err)
				}
				for i, got := range tensor.Values[float32](p.Value(0)) {
					if want := -max(2-x[i]*y[i], 0) * .5; got != want {
						t.Fatalf("batch of %d, element %d: expected %v, got %v", n, i, want, got)
					}
				}
			}
			for i, got := range tensor.Values[float32](middle.Value(1)) {
				if want := 2 - x[i]*y[i]; got != want {
					t.Fatalf("batch of %d, element %d in the middle: expected %v, got %v", n, i, want, got)
				}
			}
		}
		if got := p.Profile()[0]; got.Op != all || got.Node != "last" || got.Bytes == 0 {
			t.Errorf("profile: got %+v", got)
		}
	})
}

// TestOperandsByRowAndColumn checks that a standardization of rows is one pass after the means, that its gradient makes no
// broadcast copies, and that results have the same bits as without fusions.
func TestOperandsByRowAndColumn(t *testing.T) {
	const cols = 5
	b := graph.NewBuilder(graph.New())
	xt, rt, ct := batchType(tensor.Float64, cols), batchType(tensor.Float64, 1), fixedType(tensor.Float64, cols)
	x, gamma := b.Placeholder("x", xt), b.Placeholder("gamma", ct)
	mean := b.Op("Mean", "mean", rt, graph.Attrs{"keep_dims": true}, x, b.Const("axis", dense([]int32{1}, 1)))
	size := b.Op("Shape", "size", fixedType(tensor.Int32, 2), nil, x)
	wide := b.Op("BroadcastTo", "wide", xt, nil, mean, size)
	centred := b.Op("Sub", "centred", xt, nil, x, wide)
	scaled := b.Op("Mul", "scaled", xt, nil, gamma, centred)
	y := b.Op("AddV2", "y", xt, nil, mean, b.Op("Tanh", "tanh", xt, nil, b.Op("BiasAdd", "biased", xt, nil, scaled, gamma)))
	spec := Spec{Feeds: []graph.Output{x, gamma}, Fetches: []graph.Output{y, centred}}
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		p := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{Profile: true}))
		if got, want := labelsOf(p), []string{"Mean", "Sub+Mul+BiasAdd+Tanh+AddV2"}; !slices.Equal(got, want) {
			t.Errorf("expected %v, got %v", want, got)
		}
		apart := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{CheckNumerics: true}))
		for _, n := range []int{1, 3, 2*regionBlock/cols + 1} {
			feeds := []*tensor.Tensor{tensor.New(tensor.Float64, n, cols), tensor.New(tensor.Float64, cols)}
			for i, f := range feeds {
				fillRandom(rand.New(rand.NewPCG(uint64(n), uint64(i))), f, 1)
			}
			for _, p := range []*Program{p, apart} {
				if err := p.Run(bg, n, feeds); err != nil {
					t.Fatal(err)
				}
			}
			for i := range spec.Fetches {
				if string(p.Value(i).Bytes) != string(apart.Value(i).Bytes) {
					t.Errorf("batch of %d, fetch %d: %v together, %v apart", n, i, toND(p.Value(i)).data, toND(apart.Value(i)).data)
				}
			}
		}
	})
}

// TestFormsOfOperands checks the edge cases of formOf.
func TestFormsOfOperands(t *testing.T) {
	for _, c := range []struct {
		in, out string
		form    operandForm
		cols    int
	}{
		{"B,3", "B,3", asWhole, 0}, {"", "B,3", asScalar, 0}, {"1", "B,3", asScalar, 0}, {"1,1", "B,3", asScalar, 0}, {"1,1,1", "B,3", asScalar, 0},
		{"3", "B,3", eachColumn, 3}, {"1,3", "B,3", eachColumn, 3}, {"2,3", "B,2,3", eachColumn, 6}, {"2,1", "B,2,3", unfit, 0},
		{"B,1", "B,3", eachRow, 3}, {"B,1,1", "B,2,3", eachRow, 6}, {"B,2,1", "B,2,3", eachRow, 3}, {"B", "B,3", unfit, 0}, {"B,1,3", "B,2,3", unfit, 0},
		{"B", "3,B", unfit, 0}, {"3,1", "3,B", unfit, 0}, {"0", "B,0", unfit, 0}, {"4", "B,3", unfit, 0}, {"B,1", "B,1", asWhole, 0},
		{"B,1", "B,131072", eachRow, 131072}, {"B,1", "B,131073", unfit, 0}, {"1024,129", "B,1024,129", unfit, 0},
	} {
		if form, cols := formOf(sh(c.in), sh(c.out)); form != c.form || cols != c.cols {
			t.Errorf("%q of %q: got %v, %d columns, expected %v, %d", c.in, c.out, form, cols, c.form, c.cols)
		}
	}
}

// TestFusionsRefuseWhatOpsRefuse checks that operands that an op refuses by itself are also refused in a fusion.
func TestFusionsRefuseWhatOpsRefuse(t *testing.T) {
	for _, c := range []struct{ op, x, y string }{{"BiasAdd", "1", "1"}, {"BiasAdd", "3", "3"}, {"BiasAdd", "B,3", "1"}, {"BiasAdd", "B,3", ""}, {"BiasAdd", "B,3", "B,3"}, {"TanhGrad", "B,3", ""}, {"TanhGrad", "B,3", "3"}, {"TanhGrad", "", "B,3"}} {
		b := graph.NewBuilder(graph.New())
		float := func(shape string) graph.Type { return graph.Type{DType: tensor.Float32, Shape: sh(shape)} }
		x, y := b.Placeholder("x", float(c.x)), b.Placeholder("y", float(c.y))
		out := float(c.x)
		if c.x == "" {
			out = float(c.y)
		}
		z := b.Op("Neg", "z", out, nil, b.Op(c.op, "op", out, nil, b.Op("Neg", "neg", float(c.x), nil, x), y))
		dev := device.NewHost()
		if _, err := Compile(b.Graph, Spec{Feeds: []graph.Output{x, y}, Fetches: []graph.Output{z}}, dev, ok(NewVariables(dev)), Options{}); err == nil {
			t.Errorf("%s of %q and %q: expected an error", c.op, c.x, c.y)
		}
	}
}

// TestCheapOpsAreComputedAgain checks that a square needed by a much later gradient is recomputed, while the expensive sine,
// and a square whose operand nothing else keeps, stay in memory.
func TestCheapOpsAreComputedAgain(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ := batchType(tensor.Float32, 3)
	x := b.Placeholder("x", typ)
	op := func(name string, in ...graph.Output) graph.Output {
		return b.Op(name, b.Graph.UniqueName(name), typ, nil, in...)
	}
	start := op("Softmax", x)
	square, sine := op("Square", start), op("Sin", start)
	lonely := op("Square", op("Softmax", start))
	y := op("AddN", square, sine, lonely)
	for range regionWindow {
		y = op("Softmax", y)
	}
	last := op("Mul", op("Mul", op("Mul", op("Mul", y, square), sine), lonely), start)
	dev := device.NewHost()
	spec := Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{last}}
	p := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{}))
	if got := labelsOf(p); got[len(got)-1] != "Square+Mul+Mul+Mul+Mul" {
		t.Errorf("got %v", got[len(got)-1])
	}
	apart := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{CheckNumerics: true}))
	feed := []*tensor.Tensor{dense([]float32{.1, .4, -3}, 1, 3)}
	for _, p := range []*Program{p, apart} {
		if err := p.Run(bg, 1, feed); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := p.Value(0).Bytes, apart.Value(0).Bytes; string(got) != string(want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

// TestChainsKeepNodesForNumerics checks that nothing is merged with CheckNumerics.
func TestChainsKeepNodesForNumerics(t *testing.T) {
	p, _ := chained(device.NewHost(), Options{CheckNumerics: true})
	if got := opsOf(p); len(got) != 5 {
		t.Errorf("expected five nodes, got %v", got)
	}
}

// TestChainKeepsLateOperands checks that the result does not take the memory of an operand that a later link reads: x
// dies in the chain, and its first and last links read it.
func TestChainKeepsLateOperands(t *testing.T) {
	dev := device.NewHost()
	b := graph.NewBuilder(graph.New())
	typ := batchType(tensor.Float32, 2)
	in := b.Placeholder("in", typ)
	x := b.Op("Softmax", "x", typ, nil, in)
	neg := b.Op("Neg", "neg", typ, nil, x)
	y := b.Op("Sub", "y", typ, nil, neg, x)
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{in}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{}))
	if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{1, 1}, 1, 2)}); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](p.Value(0)); got[0] != -1 || got[1] != -1 {
		t.Errorf("expected [-1 -1], got %v (%v)", got, opsOf(p))
	}
}

// TestNormAddFusion checks that in training a normalization adds the shortcut and applies ReLU in one node, with the results
// of the single nodes.
func TestNormAddFusion(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		b := graph.NewBuilder(graph.New())
		ft, ct := batchType(tensor.Float32, 3, 7), fixedType(tensor.Float32, 7)
		x, side := b.Placeholder("x", ft), b.Placeholder("side", ft)
		one, zero := b.Op("OnesLike", "one", ct, nil, b.Const("c", tensor.New(tensor.Float32, 7))), b.Const("zero", tensor.New(tensor.Float32, 7))
		bn := b.Node("FusedBatchNormV3", "bn", []graph.Type{ft, ct, ct, ct, ct, fixedType(tensor.Float32)}, graph.Attrs{"epsilon": float32(.1), "is_training": true}, x, one, zero, zero, one)
		sum := b.Op("AddV2", "sum", ft, nil, b.Op("Neg", "neg", ft, nil, side), bn.Out(0))
		relu := b.Op("Relu", "relu", ft, nil, sum)
		spec := Spec{Feeds: []graph.Output{x, side}, Fetches: []graph.Output{relu, bn.Out(1)}}
		fused := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{Profile: true}))
		if got := opsOf(fused); !slices.Equal(got, []string{"OnesLike", "Neg", "_FusedBatchNormEx"}) {
			t.Errorf("got %v", got[len(got)-1])
		}
		spec.Fetches = append(spec.Fetches, sum, bn.Out(0))
		apart := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{}))
		for _, n := range []int{2, 2000} {
			feeds := []*tensor.Tensor{mlpRows(n, 1), mlpRows(n, 2)}
			for _, p := range []*Program{fused, apart} {
				if err := p.Run(bg, n, feeds); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 2 {
				if string(fused.Value(i).Bytes) != string(apart.Value(i).Bytes) {
					t.Errorf("batch of %d, fetch %d: fused and alone differ", n, i)
				}
			}
		}
		times := fused.Profile()
		if got := times[len(times)-1].Op; got != "FusedBatchNorm+Add+Relu" {
			t.Errorf("profile: got %v", got)
		}
	})
}

func mlpRows(n int, seed uint64) *tensor.Tensor {
	t := tensor.New(tensor.Float32, n, 3, 7)
	fillRandom(rand.New(rand.NewPCG(seed, 0)), t, 1)
	return t
}

// TestRepeatsForOthers checks that ops that do not broadcast operands themselves keep the BroadcastTo: the gradient of a
// mean, a bias of one number.
func TestRepeatsForOthers(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ, bias := batchType(tensor.Float32, 3), fixedType(tensor.Float32, 3)
	x, s := b.Placeholder("x", typ), b.Placeholder("s", graph.Type{DType: tensor.Float32})
	wide := b.Op("BroadcastTo", "wide", typ, nil, s, b.Op("Shape", "size", fixedType(tensor.Int32, 2), nil, x))
	biases := b.Op("BroadcastTo", "biases", bias, nil, s, b.Const("three", dense([]int32{3}, 1)))
	fetches := []graph.Output{b.Op("ReluGrad", "dx", typ, nil, wide, x), b.Op("TanhGrad", "dy", typ, nil, x, wide), b.Op("BiasAdd", "biased", typ, nil, x, biases)}
	want := [][]float32{{2, 0, 2}, {2 - 2*1, 2 - 2*4, 2 - 2*9}, {3, 0, 5}}
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		for i, f := range fetches {
			p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x, s}, Fetches: []graph.Output{f}}, dev, ok(NewVariables(dev)), Options{}))
			if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{1, -2, 3}, 1, 3), tensor.Scalar(float32(2))}); err != nil {
				t.Fatal(err)
			}
			if got := tensor.Values[float32](p.Value(0)); !slices.Equal(got, want[i]) {
				t.Errorf("%v: got %v, expected %v", f, got, want[i])
			}
		}
	})
}

// TestFusionsWithoutReaders checks that ops that are only targets, or only waited for, can be merged.
func TestFusionsWithoutReaders(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ := batchType(tensor.Float32, 3)
	x := b.Placeholder("x", typ)
	last := b.Op("Neg", "last", typ, nil, b.Op("Tanh", "tanh", typ, nil, x))
	waits := b.Op("Softmax", "waits", typ, nil, x)
	waits.Node.Control = append(waits.Node.Control, last.Node)
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		for _, spec := range []Spec{{Fetches: []graph.Output{waits}}, {Targets: []*graph.Node{last.Node}}} {
			spec.Feeds = []graph.Output{x}
			p := ok(Compile(b.Graph, spec, dev, ok(NewVariables(dev)), Options{Profile: true}))
			if got := labelsOf(p); got[0] != "Tanh+Neg" {
				t.Errorf("got %v", got)
			}
			if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{1, 2, 3}, 1, 3)}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestFetchesByWayOfIdentities checks that a fetch that OnFetch reports does not wait for the end of a fusion.
func TestFetchesByWayOfIdentities(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ := batchType(tensor.Float32, 3)
	x := b.Placeholder("x", typ)
	square := b.Op("Square", "square", typ, nil, x)
	early := b.Op("Identity", "early", typ, nil, square)
	last := b.Op("Neg", "last", typ, nil, b.Op("Tanh", "tanh", typ, nil, square))
	dev := device.NewHost()
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{early, last}}, dev, ok(NewVariables(dev)), Options{Profile: true, OnFetch: func(int) {}}))
	if got := labelsOf(p); !slices.Contains(got, "Square") || !slices.Contains(got, "Tanh+Neg") {
		t.Errorf("got %v", got)
	}
}

// TestWrongLinksAreErrors checks that an op with too few inputs is refused, not merged.
func TestWrongLinksAreErrors(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ := batchType(tensor.Float32, 2)
	x := b.Placeholder("x", typ)
	y := b.Op("Neg", "y", typ, nil, b.Op("Mul", "mul", typ, nil, b.Op("Neg", "neg", typ, nil, x)))
	dev := device.NewHost()
	_, err := Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{})
	var e *UnsupportedOpError
	if !errors.As(err, &e) || e.Node != "mul" {
		t.Errorf("expected an error of node mul, got %v", err)
	}
}
