package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

var halfTypes = []tensor.DType{tensor.BFloat16, tensor.Float16}

// halfNode is a 16-bit node whose first input is fed.
type halfNode struct {
	op    string
	attrs graph.Attrs
	in    []*tensor.Tensor // float32 tensors are converted to 16 bits
	out   tensor.DType     // Invalid: 16 bits
	only  tensor.DType     // Invalid: both types
	once  bool             // rounded once, although the single node rounds its steps
}

// numbers are positive and negative, some with many digits; the first are edge cases.
func numbers(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, shape...)
	v := tensor.Values[float32](t)
	r := rand.New(rand.NewPCG(uint64(len(v)), 1))
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	if len(shape) == 2 && shape[1] >= 7 {
		copy(v, []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 100, -100})
	}
	return t
}

func ints(v ...int32) *tensor.Tensor {
	t, _ := tensor.FromSlice(v, len(v))
	return t
}

func halfNodes() []halfNode {
	x, image := numbers(3, 9), numbers(2, 6, 5, 4)
	conv := graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME")}
	pool := graph.Attrs{"ksize": []int64{1, 2, 2, 1}, "strides": []int64{1, 2, 2, 1}, "padding": []byte("VALID")}
	all := []halfNode{
		{op: "MatMul", in: []*tensor.Tensor{numbers(3, 5), numbers(5, 8)}, only: tensor.BFloat16},
		{op: "BatchMatMulV2", in: []*tensor.Tensor{numbers(2, 3, 5), numbers(2, 5, 4)}, only: tensor.BFloat16},
		{op: "Sum", in: []*tensor.Tensor{numbers(3, 4, 2), ints(1)}, only: tensor.BFloat16},
		{op: "Einsum", attrs: graph.Attrs{"N": int64(2), "equation": []byte("ab,bcd->acd")}, in: []*tensor.Tensor{numbers(3, 5), numbers(5, 2, 4)}, only: tensor.BFloat16, once: true},
		{op: "Softmax", in: []*tensor.Tensor{numbers(3, 5)}, only: tensor.BFloat16, once: true},
		{op: "Conv2D", attrs: conv, in: []*tensor.Tensor{image, numbers(3, 3, 4, 6)}},
		{op: "DepthwiseConv2dNative", attrs: conv, in: []*tensor.Tensor{image, numbers(3, 3, 4, 1)}},
		{op: "MaxPool", attrs: pool, in: []*tensor.Tensor{image}},
		{op: "AvgPool", attrs: pool, in: []*tensor.Tensor{image}},
		{op: "BiasAdd", in: []*tensor.Tensor{x, numbers(9)}},
		{op: "Max", in: []*tensor.Tensor{numbers(3, 4), ints(1)}},
		{op: "Reshape", in: []*tensor.Tensor{x, ints(-1, 3)}},
		{op: "Transpose", in: []*tensor.Tensor{x, ints(1, 0)}},
		{op: "ConcatV2", attrs: graph.Attrs{"N": int64(2)}, in: []*tensor.Tensor{x, x, tensor.Scalar(int32(1))}},
		{op: "GatherV2", in: []*tensor.Tensor{x, ints(1, 0), tensor.Scalar(int32(1))}},
		{op: "Greater", in: []*tensor.Tensor{x, numbers(9)}, out: tensor.Bool},
		{op: "Cast", attrs: graph.Attrs{"DstT": tensor.Float32}, in: []*tensor.Tensor{x}, out: tensor.Float32},
		{op: "Cast", attrs: graph.Attrs{"DstT": tensor.Int32}, in: []*tensor.Tensor{numbers(3, 2)}, out: tensor.Int32},
	}
	for _, op := range []string{"Relu", "Relu6", "Sigmoid", "Tanh", "Exp", "Neg", "Abs", "Square", "Rsqrt", "Sqrt", "Log", "Erf", "Floor", "Reciprocal"} {
		all = append(all, halfNode{op: op, in: []*tensor.Tensor{x}})
	}
	for _, op := range []string{"AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"} {
		all = append(all, halfNode{op: op, in: []*tensor.Tensor{x, numbers(9)}})
	}
	return all
}

// TestHalvesAreCompiled: programs compute 16-bit ops, with the same bits as the single nodes, or the adjacent number
// where a float32 function is off in its last place.
func TestHalvesAreCompiled(t *testing.T) {
	defer kernels.SetLevel(kernels.BestLevel())
	for level := kernels.Portable; level <= kernels.BestLevel(); level++ {
		kernels.SetLevel(level)
		for _, d := range halfTypes {
			for i, c := range halfNodes() {
				if c.only == tensor.Invalid || c.only == d {
					t.Run(fmt.Sprint(level, "/", c.op, i, d), func(t *testing.T) { c.check(t, d) })
				}
			}
		}
	}
}

func (c halfNode) check(t *testing.T, d tensor.DType) {
	b := graph.NewBuilder(graph.New())
	attrs := graph.Attrs{"T": d, "SrcT": d}
	for k, v := range c.attrs {
		attrs[k] = v
	}
	out := c.out
	if out == tensor.Invalid {
		out = d
	}
	var in []graph.Output
	var values []eager.Value
	for i, x := range c.in {
		if x.DType == tensor.Float32 {
			narrow := tensor.New(d, x.Shape...)
			convert.Between(tensor.Float32, d)(narrow.Bytes, x.Bytes)
			x = narrow
		}
		values = append(values, eager.Value{T: x})
		if i > 0 {
			in = append(in, b.Const(fmt.Sprint("c", i), x))
			continue
		}
		dims := make([]graph.Dim, len(x.Shape))
		for k, n := range x.Shape {
			dims[k] = graph.Fixed(n)
		}
		dims[0] = graph.Unknown
		in = append(in, b.Placeholder("x", graph.Type{DType: d, Shape: graph.Shape{Dims: dims}}))
	}
	y := b.Op(c.op, "y", graph.Type{DType: out, Shape: graph.Shape{UnknownRank: true}}, attrs, in...)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	s := sessionOf(t, b, map[string]graph.Output{"x": in[0]}, y)
	got, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": values[0].T}, []string{"y:0"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := eager.Run(t.Context(), y.Node, values, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].Shape, want[0].T.Shape) || got[0].DType != want[0].T.DType {
		t.Fatalf("got %v %v, expected %v %v", got[0].DType, got[0].Shape, want[0].T.DType, want[0].T.Shape)
	}
	differ := 0
	for i := range got[0].Len() {
		a, b := got[0].Float(i), want[0].T.Float(i)
		if a == b && (a != 0 || math.Signbit(a) == math.Signbit(b)) || math.IsNaN(a) && math.IsNaN(b) {
			continue
		}
		most := math.Abs(b) / 100
		if c.once {
			most = 0.05 + math.Abs(b)/50
		}
		if differ++; math.Abs(a-b) > most || differ > 1+got[0].Len()/50 && !c.once {
			t.Errorf("element %d: got %v, expected %v", i, a, b)
		}
	}
	if n := eagerSteps(s); n > 0 {
		t.Errorf("%d nodes are run by themselves", n)
	}
}

// eagerSteps counts the nodes that plans run eagerly.
func eagerSteps(s *Session) (n int) {
	for _, p := range s.plans {
		for _, v := range p.variants {
			for _, st := range v.stages {
				if e, ok := st.(*eagerStage); ok {
					n += len(e.steps)
				}
			}
		}
	}
	return n
}

// TestRoundingsWait: a sum that only Relu and MaxPool read is rounded after them, with the same bits as node by node.
func TestRoundingsWait(t *testing.T) {
	image := graph.Type{Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(6), graph.Fixed(6), graph.Fixed(3)}}}
	pool := graph.Attrs{"ksize": []int64{1, 2, 2, 1}, "strides": []int64{1, 2, 2, 1}, "padding": []byte("VALID")}
	for _, d := range halfTypes {
		b := graph.NewBuilder(graph.New())
		image.DType, pool["T"] = d, d
		pooled := image
		pooled.Shape = graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(3), graph.Fixed(3), graph.Fixed(3)}}
		half := func(x *tensor.Tensor) *tensor.Tensor {
			y := tensor.New(d, x.Shape...)
			convert.Between(tensor.Float32, d)(y.Bytes, x.Bytes)
			return y
		}
		x, c := half(numbers(2, 6, 6, 3)), half(numbers(3))
		in := b.Placeholder("x", image)
		sum := b.Op("AddV2", "sum", image, graph.Attrs{"T": d}, in, b.Const("c", c))
		relu := b.Op("Relu", "relu", image, graph.Attrs{"T": d}, sum)
		most := b.Op("MaxPool", "most", pooled, pool, relu)
		y := b.Op("Mul", "y", pooled, graph.Attrs{"T": d}, most, b.Const("factor", half(numbers(3)))) // shows whether its operand was rounded
		s := sessionOf(t, b, map[string]graph.Output{"x": in}, y)
		got, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": x}, []string{"y:0"})
		if err != nil {
			t.Fatal(err)
		}
		want := []eager.Value{{T: x}, {T: c}}
		for _, n := range []*graph.Node{sum.Node, relu.Node, most.Node, y.Node} {
			if n == y.Node {
				want = append(want, eager.Value{T: half(numbers(3))})
			}
			if want, err = eager.Run(t.Context(), n, want, nil); err != nil {
				t.Fatal(err)
			}
		}
		if string(got[0].Bytes) != string(want[0].T.Bytes) {
			t.Errorf("%v: got %v, expected %v", d, got[0].Bytes, want[0].T.Bytes)
		}
	}
}

// TestBiasIsRoundedWithTheProduct: a bfloat16 product and its bias are rounded once, to nearest. A product with other readers is rounded
// by itself: to nearest with AVX-512, else toward zero.
func TestBiasIsRoundedWithTheProduct(t *testing.T) {
	defer kernels.SetLevel(kernels.BestLevel())
	for _, level := range []kernels.Level{kernels.AVX2, kernels.AVX512} {
		if kernels.SetLevel(level) != level {
			continue
		}
		if got := biased(t, false); got != 2.015625 { // near 2.01171875, a tie
			t.Errorf("%v: got %v, expected 2.015625", level, got)
		}
		want := 2.015625 // from 1.515625, near 1.51171875, a tie
		if level == kernels.AVX2 {
			want = 2 // from 1.5078125
		}
		if got := biased(t, true); got != want {
			t.Errorf("%v, shared: got %v, expected %v", level, got, want)
		}
	}
}

// biased is 1.0078125 times 1.5, plus 0.5; a shared product has other readers.
func biased(t *testing.T, shared bool) float64 {
	t.Helper()
	typ := graph.Type{DType: tensor.BFloat16, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(1)}}}
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", typ)
	attrs := graph.Attrs{"T": tensor.BFloat16}
	p := b.Op("MatMul", "p", typ, attrs, x, b.Const("w", brains(t, 1, 1, 1.5)))
	y := b.Op("BiasAdd", "y", typ, attrs, p, b.Const("b", brains(t, 1, 0, 0.5)))
	if shared {
		y = b.Op("AddV2", "z", typ, attrs, y, b.Op("Sub", "none", typ, attrs, p, p))
	}
	s := sessionOf(t, b, map[string]graph.Output{"x": x}, y)
	got, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": brains(t, 1, 1, 1.0078125)}, []string{y.String()})
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Float(0)
}

// brains is a tensor filled with one bfloat16, [rows, columns] or, without columns, [rows].
func brains(t *testing.T, rows, columns int, v float32) *tensor.Tensor {
	t.Helper()
	shape := []int{rows, columns}
	if columns == 0 {
		shape = shape[:1]
	}
	x := tensor.New(tensor.BFloat16, shape...)
	convert.Between(tensor.Float32, tensor.BFloat16)(x.Bytes, tensor.Scalar(v).Bytes)
	return x
}
