package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

func TestFiniteHalves(t *testing.T) {
	if finite, isNaN := finiteHalves([]uint16{0x3f80, 0x7fc0}); finite || !isNaN {
		t.Error("a NaN in bfloat16 was not found")
	}
}

// TestMixedTrains checks that training in bfloat16 gives about the results of float32, with float32 variables and fetches.
func TestMixedTrains(t *testing.T) {
	want, loss, _ := train(t, device.NewHost(), Options{})
	for _, lacks := range [][]string{nil, {"BiasAddGrad", "Cast"}, {"_FusedMatMul"}, {"ReluGrad", "SparseSoftmaxCrossEntropyWithLogits"}} {
		d := refusing(lacks...)
		got, l, p := train(t, d, Options{Precision: BF16Mixed})
		for name, w := range want {
			closeTo(t, name, got[name], w, 2e-2)
		}
		closeTo(t, "loss", l, loss, 2e-2)
		if p.Precision() != BF16Mixed || p.Value(1).DType != tensor.Float32 {
			t.Errorf("precision %v, logits %v", p.Precision(), p.Value(1).DType)
		}
	}
	if _, _, p := train(t, device.NewHost(), Options{Precision: BF16Mixed}); p.Precision() != Float32 || p.Precision().String() != "float32" {
		t.Errorf("host: expected float32, got %v", p.Precision())
	}
}

// typesOf lists operations with the types of their floats.
func typesOf(d *twin) []string {
	letter := map[tensor.DType]string{tensor.Float32: "f", tensor.BFloat16: "h"}
	var all []string
	for _, t := range d.codes[len(d.codes)-1].ops {
		in, out := "", ""
		for _, x := range t.o.In {
			in += letter[x.Type.DType]
		}
		for _, x := range t.o.Out {
			out += letter[x.Type.DType]
		}
		all = append(all, fmt.Sprintf("%s %s>%s", t.o.Node.Op, in, out))
	}
	return all
}

func TestMixedTypes(t *testing.T) {
	d := newTwin()
	m := newMLP(tensor.Float32, 8, 4, 2, 0.1)
	ok(Compile(m.g, m.spec, d, m.variables(t, d, 1), Options{Capacity: 4, Precision: BF16Mixed}))
	got := typesOf(d)
	for _, want := range []string{
		"_FusedMatMul hhh>h", // the hidden layer
		"_FusedMatMul hhf>f", // logits
		"SparseSoftmaxCrossEntropyWithLogits f>ff", "MatMul hh>f", "MatMul hh>h", "BiasAddGrad h>f", "ResourceApplyGradientDescent fff>", "Cast f>h", "ReluGrad hh>h",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("expected %q among %q", want, got)
		}
	}
	casts := 0
	for _, o := range got {
		if o == "Cast f>h" {
			casts++
		}
	}
	if casts != 4 { // x, w1, b1, w2; dl's cast is within a fusion
		t.Errorf("expected 4 casts, got %d: %q", casts, got)
	}
}

// TestTF32 checks that the accelerator gets the option.
func TestTF32(t *testing.T) {
	d := newTwin()
	ok(double(d, Options{Precision: TF32}))
	if !d.how.TF32 {
		t.Error("expected the accelerator to be told")
	}
}

// TestMixedNorm trains a convolution with batch normalization in both precisions.
func TestMixedNorm(t *testing.T) {
	run := func(d device.Device, o Options) (*tensor.Tensor, *Program) {
		b := graph.NewBuilder(graph.New())
		image, c := batchType(tensor.Float32, 4, 4, 2), fixedType(tensor.Float32, 3)
		x := b.Placeholder("x", image)
		same := graph.Attrs{"padding": []byte("SAME"), "strides": []int64{1, 1, 1, 1}}
		filter := func(in int) graph.Output {
			f := tensor.New(tensor.Float32, 3, 3, in, 3)
			fillRandom(rand.New(rand.NewPCG(3, uint64(in))), f, 0.3)
			return b.Const(fmt.Sprint("filter", in), f)
		}
		mid := batchType(tensor.Float32, 4, 4, 3)
		y := b.Op("Conv2D", "conv", mid, same, x, filter(2))
		one, zero := b.Const("one", dense([]float32{1, 1, 1}, 3)), b.Const("zero", dense([]float32{0, 0, 0}, 3))
		n := b.Node("FusedBatchNormV3", "norm", []graph.Type{mid, c, c, c, c, c}, graph.Attrs{"is_training": true, "epsilon": float32(1e-3)}, y, one, zero, zero, one)
		z := b.Op("Relu", "relu", mid, nil, b.Op("AddV2", "sum", mid, nil, n.Out(0), y))
		z = b.Op("Conv2D", "conv2", mid, same, z, filter(3))
		mean := b.Op("Mean", "mean", batchType(tensor.Float32, 3), nil, b.Op("Relu", "relu2", mid, nil, z), b.Const("axes", dense([]int32{1, 2}, 2)))
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{mean, n.Out(1)}}, d, ok(NewVariables(d)), o))
		in := tensor.New(tensor.Float32, 5, 4, 4, 2)
		fillRandom(rand.New(rand.NewPCG(1, 2)), in, 1)
		if err := p.Run(bg, 5, []*tensor.Tensor{in}); err != nil {
			t.Fatal(err)
		}
		return p.Value(0).Clone(), p
	}
	want, _ := run(device.NewHost(), Options{})
	d := newTwin()
	got, _ := run(d, Options{Precision: BF16Mixed})
	closeTo(t, "mean", got, want, 2e-2)
	types := typesOf(d)
	for _, w := range []string{"Conv2D hh>h", "_FusedBatchNormEx hffffh>hfffff", "_FusedConv2D hh>h", "Mean h>f"} {
		if !slices.Contains(types, w) {
			t.Errorf("expected %q among %q", w, types)
		}
	}
}

// TestMixedAnySplit runs random graphs in bfloat16 on a twin without kernels for a random set of ops: they compile, and
// fetches are float32.
func TestMixedAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		x := drawRows(t, rapid.IntRange(1, 6).Draw(t, "rows"))
		lacks := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"Cast", "MatMul", "BiasAdd", "Relu", "Tanh", "AddV2", "Add", "Mul", "Sub", "Softmax", "AddN", fusionOp}), rapid.ID).Draw(t, "lacks")
		d := refusing(lacks...)
		defer d.Close()
		vars := ok(NewVariables(d))
		if err := vars.Create("v", dense([]float32{.1, .2, -.3, .4}, 4)); err != nil {
			t.Fatal(err)
		}
		p, err := Compile(g.Graph, Spec{Feeds: []graph.Output{g.x}, Fetches: g.values, Targets: g.targets}, d, vars, Options{Precision: BF16Mixed})
		if err == nil {
			err = p.Run(bg, x.Shape[0], []*tensor.Tensor{x})
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range g.values {
			if p.Value(i).DType != tensor.Float32 {
				t.Fatalf("%v: expected float32, got %v", v, p.Value(i).DType)
			}
		}
	})
}
