package session_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
)

func constant32(v ...int32) *tensor.Tensor {
	t, err := tensor.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

// formCase is an op with one fed input, followed by constants.
type formCase struct {
	op    string
	attrs graph.Attrs
	x     []int // sizes of the fed input, the batch first
	rest  []*tensor.Tensor
	outs  int
}

var formCases = []formCase{
	{"Einsum", graph.Attrs{"equation": []byte("abc,cd->abd")}, []int{3, 4, 5}, []*tensor.Tensor{random(1, 5, 6)}, 1},
	{"Einsum", graph.Attrs{"equation": []byte("abc,cde->abde")}, []int{3, 4, 5}, []*tensor.Tensor{random(1, 5, 6, 2)}, 1},
	{"Einsum", graph.Attrs{"equation": []byte("ab,cb->ca")}, []int{3, 4}, []*tensor.Tensor{random(1, 5, 4)}, 1},
	{"Conv2D", graph.Attrs{"data_format": []byte("NCHW"), "strides": []int64{1, 1, 2, 1}, "padding": []byte("SAME")}, []int{2, 3, 7, 6}, []*tensor.Tensor{random(1, 3, 2, 3, 4)}, 1},
	{"MaxPool", graph.Attrs{"data_format": []byte("NCHW"), "strides": []int64{1, 1, 2, 2}, "ksize": []int64{1, 1, 3, 2}, "padding": []byte("VALID")}, []int{2, 3, 7, 6}, nil, 1},
	{"BiasAdd", graph.Attrs{"data_format": []byte("NCHW")}, []int{2, 3, 4, 5}, []*tensor.Tensor{random(1, 3)}, 1},
	{"FusedBatchNormV3", graph.Attrs{"data_format": []byte("NCHW"), "is_training": false, "epsilon": float32(.01), "U": tensor.Float32}, []int{2, 3, 4, 5},
		[]*tensor.Tensor{random(1, 3), random(2, 3), random(3, 3), absolute(random(4, 3))}, 6},
	{"FusedBatchNorm", graph.Attrs{"is_training": false, "epsilon": float32(.01)}, []int{2, 4, 5, 3},
		[]*tensor.Tensor{random(1, 3), random(2, 3), random(3, 3), absolute(random(4, 3))}, 5},
	{"BatchMatMul", graph.Attrs{"adj_y": true}, []int{2, 3, 4}, []*tensor.Tensor{random(1, 2, 5, 4)}, 1},
	{"SplitV", graph.Attrs{"num_split": int64(2), "Tlen": tensor.Int32}, []int{3, 7}, []*tensor.Tensor{constant32(3, -1), tensor.Scalar(int32(-1))}, 2},
	{"Snapshot", nil, []int{3, 2}, nil, 1},
	{"Rint", nil, []int{3, 2}, nil, 1},
}

func absolute(t *tensor.Tensor) *tensor.Tensor {
	for i, v := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = v*v + 1
	}
	return t
}

// TestForms compares ops that programs compute as several ops with their kernels.
func TestForms(t *testing.T) {
	for i, c := range formCases {
		t.Run(fmt.Sprintf("%d %s", i, c.op), func(t *testing.T) {
			if !eager.Supported(c.op) {
				t.Skip("skipped: there is no kernel to compare with")
			}
			b := graph.NewBuilder(graph.New())
			open := graph.ShapeOf(c.x...)
			open.Dims[0] = graph.Unknown
			x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: open})
			in, values := []graph.Output{x}, []eager.Value{{}}
			for k, r := range c.rest {
				in = append(in, b.Const(fmt.Sprintf("rest%d", k), r))
				values = append(values, eager.Value{T: r})
			}
			attrs := graph.Attrs{"T": tensor.Float32, "Tblock_shape": tensor.Int32, "Tpaddings": tensor.Int32, "Tcrops": tensor.Int32, "N": int64(len(in))}
			for name, v := range c.attrs {
				attrs[name] = v
			}
			types := make([]graph.Type, c.outs)
			for k := range types {
				types[k] = graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}
			}
			n := b.Node(c.op, "y", types, attrs, in...)
			if err := b.Err(); err != nil {
				t.Fatal(err)
			}
			s, err := session.Load(context.Background(), metaGraph(t, b.Graph, x, n.Out(0)), session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			for _, times := range []int{1, 2, 1} {
				sizes := slices.Clone(c.x)
				sizes[0] *= times
				if c.op == "BatchMatMul" && times > 1 {
					continue // the constant has only as many matrices
				}
				values[0].T = random(times, sizes...)
				want := reference(t, n, values)
				fetches := []string{"y:0"}
				if c.op == "SplitV" {
					fetches = append(fetches, "y:1")
				}
				got, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x:0": values[0].T}, fetches)
				if err != nil {
					t.Fatal(err)
				}
				for k := range got {
					same(t, got[k], want[k].T)
				}
			}
		})
	}
}

func same(t *testing.T, got, want *tensor.Tensor) {
	t.Helper()
	if !slices.Equal(got.Shape, want.Shape) {
		t.Fatalf("got shape %v, expected %v", got.Shape, want.Shape)
	}
	for i, w := range tensor.Values[float32](want) {
		if g := tensor.Values[float32](got)[i]; math.Abs(float64(g-w)) > 1e-5*math.Max(1, math.Abs(float64(w))) {
			t.Fatalf("element %d is %v, expected %v", i, g, w)
		}
	}
}

// permuted transposes a tensor.
func permuted(t *testing.T, v eager.Value, perm ...int32) eager.Value {
	t.Helper()
	n := &graph.Node{Name: "permute", Op: "Transpose", Attrs: graph.Attrs{"T": tensor.Float32, "Tperm": tensor.Int32}, Outputs: make([]graph.Type, 1)}
	out, err := eager.Run(context.Background(), n, []eager.Value{v, {T: constant32(perm...)}}, &eager.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// reference computes a node by its kernel; with channels first, by the kernel for channels last.
func reference(t *testing.T, n *graph.Node, in []eager.Value) []eager.Value {
	t.Helper()
	first := n.Str("data_format") == "NCHW"
	if first {
		in = slices.Clone(in)
		in[0] = permuted(t, in[0], 0, 2, 3, 1)
		attrs := graph.Attrs{}
		for name, v := range n.Attrs {
			if l, ok := v.([]int64); ok {
				v = []int64{l[0], l[2], l[3], l[1]}
			}
			attrs[name] = v
		}
		attrs["data_format"] = []byte("NHWC")
		n = &graph.Node{Name: n.Name, Op: n.Op, Attrs: attrs, Inputs: n.Inputs, Outputs: n.Outputs}
	}
	out, err := eager.Run(context.Background(), n, in, &eager.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if first {
		out[0] = permuted(t, out[0], 0, 3, 1, 2)
	}
	return out
}

// TestBlocks: the example in TensorFlow's documentation, and back with paddings.
func TestBlocks(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	unknown := graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2), graph.Fixed(2), graph.Fixed(1)}}})
	block, none := b.Const("block", constant32(2, 2)), b.Const("none", tensor.New(tensor.Int32, 2, 2))
	edges := b.Const("edges", &tensor.Tensor{DType: tensor.Int32, Shape: []int{2, 2}, Bytes: constant32(2, 0, 1, 1).Bytes})
	attrs := graph.Attrs{"T": tensor.Float32, "Tblock_shape": tensor.Int32, "Tpaddings": tensor.Int32, "Tcrops": tensor.Int32}
	cut := b.Op("SpaceToBatchND", "cut", unknown, attrs, x, block, none)
	padded := b.Op("SpaceToBatchND", "padded", unknown, attrs, x, block, edges)
	back := b.Op("BatchToSpaceND", "back", unknown, attrs, padded, block, edges)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	mg := metaGraph(t, b.Graph, x, cut)
	mg.Signatures["back"] = metaGraph(t, b.Graph, x, back).Signatures["serving_default"]
	s, err := session.Load(context.Background(), mg, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	in := floats(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2, 1)
	got := call(t, s, "serving_default", map[string]*tensor.Tensor{"t": in})["t"]
	same(t, got, floats(t, []float32{1, 5, 2, 6, 3, 7, 4, 8}, 8, 1, 1, 1))
	same(t, call(t, s, "back", map[string]*tensor.Tensor{"t": in})["t"], in)
}
