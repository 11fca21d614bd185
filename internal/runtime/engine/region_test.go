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

// TestChains sees what is merged, and that batches of more than one block and of one row give what the ops give alone.
func TestChains(t *testing.T) {
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		p, _ := chained(dev, Options{Profile: true})
		if got := opsOf(p); !slices.Equal(got, []string{"Mul+Sub+Relu+Neg+Mul"}) {
			t.Errorf("expected one chain, got %v", got)
		}
		split, _ := chained(dev, Options{}, "sub")
		if got := opsOf(split); !slices.Equal(got, []string{"Mul+Sub", "Relu+Neg+Mul"}) {
			t.Errorf("expected the fetched value between two chains, got %v", got)
		}
		for _, n := range []int{1, 3 * regionBlock, 5} {
			feeds := []*tensor.Tensor{tensor.New(tensor.Float32, n, 3), tensor.New(tensor.Float32, n, 3), tensor.Scalar(float32(.5))}
			for i := range 3 * n {
				tensor.Values[float32](feeds[0])[i], tensor.Values[float32](feeds[1])[i] = float32(i%7)/4, float32(i%5)/2-1
			}
			if err := p.Run(bg, n, feeds); err != nil {
				t.Fatal(err)
			}
			x, y, got := tensor.Values[float32](feeds[0]), tensor.Values[float32](feeds[1]), tensor.Values[float32](p.Value(0))
			for i := range got {
				if want := -max(2-x[i]*y[i], 0) * .5; got[i] != want {
					t.Fatalf("batch of %d, element %d: expected %v, got %v", n, i, want, got[i])
				}
			}
		}
		if got := p.Profile()[0]; got.Op != "Mul+Sub+Relu+Neg+Mul" || got.Node != "last" || got.Bytes == 0 {
			t.Errorf("profile: got %+v", got)
		}
	})
}

// TestChainsKeepNodesForNumerics sees that nothing is merged where NaN is looked for.
func TestChainsKeepNodesForNumerics(t *testing.T) {
	p, _ := chained(device.NewHost(), Options{CheckNumerics: true})
	if got := opsOf(p); len(got) != 5 {
		t.Errorf("expected five nodes, got %v", got)
	}
}

// TestChainKeepsLateOperands sees that the result does not take the memory of an operand that a later link reads: x
// dies in the chain and is read by its first and its last link.
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

// TestNormAddFusion sees that a normalization in training adds the shortcut and clips, in one node, and gives what the
// nodes give alone.
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
			t.Errorf("got %v", got)
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

// TestWrongLinksAreErrors sees that an op with too few inputs is refused, not merged.
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
