package infer_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

func ints(v ...int32) *tensor.Tensor {
	t, err := tensor.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

func scalar(v int32) *tensor.Tensor { return tensor.Scalar(v) }

// x is a tensor of which the rules only know the shape.
func x(sizes ...int) *tensor.Tensor { return tensor.New(tensor.Float32, sizes...) }

type example struct {
	op    string
	attrs graph.Attrs
	in    []*tensor.Tensor
	outs  int
}

var window = graph.Attrs{"strides": []int64{1, 2, 1, 1}, "padding": []byte("SAME"), "ksize": []int64{1, 3, 2, 1}}

func strided(begin, end, ellipsis, newAxis, shrink int64) graph.Attrs {
	return graph.Attrs{"begin_mask": begin, "end_mask": end, "ellipsis_mask": ellipsis, "new_axis_mask": newAxis, "shrink_axis_mask": shrink, "Index": tensor.Int32}
}

// examples are nodes whose sizes the eager kernels determine.
var examples = []example{
	{"AddV2", nil, []*tensor.Tensor{x(3, 1, 4), x(5, 1)}, 1},
	{"SelectV2", nil, []*tensor.Tensor{tensor.New(tensor.Bool, 3, 1), x(1, 4), x(3, 1)}, 1},
	{"MatMul", graph.Attrs{"transpose_a": true}, []*tensor.Tensor{x(3, 2), x(3, 4)}, 1},
	{"BatchMatMulV2", graph.Attrs{"adj_y": true}, []*tensor.Tensor{x(5, 1, 2, 3), x(4, 6, 3)}, 1},
	{"Einsum", graph.Attrs{"equation": []byte("abc,cd->bad")}, []*tensor.Tensor{x(2, 3, 4), x(4, 5)}, 1},
	{"Mean", graph.Attrs{"keep_dims": true}, []*tensor.Tensor{x(2, 3, 4), ints(-1, 0)}, 1},
	{"Sum", nil, []*tensor.Tensor{x(2, 3, 4), ints(1)}, 1},
	{"ArgMax", graph.Attrs{"output_type": tensor.Int64}, []*tensor.Tensor{x(2, 3), scalar(1)}, 1},
	{"TopKV2", nil, []*tensor.Tensor{x(2, 5), scalar(3)}, 2},
	{"Shape", graph.Attrs{"out_type": tensor.Int64}, []*tensor.Tensor{x(2, 0, 4)}, 1},
	{"Shape", graph.Attrs{"out_type": tensor.Int32}, []*tensor.Tensor{x()}, 1},
	{"ShapeN", graph.Attrs{"out_type": tensor.Int32}, []*tensor.Tensor{x(2, 0, 4), x(), x(3)}, 3},
	{"Size", graph.Attrs{"out_type": tensor.Int64}, []*tensor.Tensor{x(2, 0, 4)}, 1},
	{"Rank", graph.Attrs{"out_type": tensor.Int32}, []*tensor.Tensor{x(2, 0, 4)}, 1},
	{"Reshape", nil, []*tensor.Tensor{x(2, 3, 4), ints(6, -1)}, 1},
	{"ExpandDims", nil, []*tensor.Tensor{x(2, 3), scalar(-1)}, 1},
	{"Squeeze", graph.Attrs{"squeeze_dims": []int64{1}}, []*tensor.Tensor{x(1, 1, 3)}, 1},
	{"Squeeze", nil, []*tensor.Tensor{x(1, 2, 1)}, 1},
	{"Transpose", nil, []*tensor.Tensor{x(2, 3, 4), ints(2, 0, 1)}, 1},
	{"Fill", nil, []*tensor.Tensor{ints(2, 5), tensor.Scalar(float32(1))}, 1},
	{"Tile", nil, []*tensor.Tensor{x(2, 3), ints(2, 0)}, 1},
	{"BroadcastTo", nil, []*tensor.Tensor{x(3, 1), ints(2, 3, 4)}, 1},
	{"Range", nil, []*tensor.Tensor{scalar(7), scalar(-1), scalar(-3)}, 1},
	{"OneHot", graph.Attrs{"axis": int64(0)}, []*tensor.Tensor{ints(1, 2), scalar(4), tensor.Scalar(float32(1)), tensor.Scalar(float32(0))}, 1},
	{"ConcatV2", nil, []*tensor.Tensor{x(2, 3), x(2, 4), scalar(-1)}, 1},
	{"Pack", graph.Attrs{"axis": int64(1), "N": int64(2)}, []*tensor.Tensor{x(2, 3), x(2, 3)}, 1},
	{"Unpack", graph.Attrs{"axis": int64(1), "num": int64(3)}, []*tensor.Tensor{x(2, 3)}, 3},
	{"Split", graph.Attrs{"num_split": int64(2)}, []*tensor.Tensor{scalar(1), x(2, 6)}, 2},
	{"SplitV", graph.Attrs{"num_split": int64(3)}, []*tensor.Tensor{x(2, 6), ints(1, -1, 2), scalar(1)}, 3},
	{"GatherV2", graph.Attrs{"batch_dims": int64(1)}, []*tensor.Tensor{x(2, 5, 3), tensor.New(tensor.Int32, 2, 4), scalar(1)}, 1},
	{"GatherNd", nil, []*tensor.Tensor{x(2, 5, 3), tensor.New(tensor.Int32, 4, 2)}, 1},
	{"PadV2", nil, []*tensor.Tensor{x(2, 3), tensor2(1, 0, 2, 2), tensor.Scalar(float32(0))}, 1},
	{"Slice", nil, []*tensor.Tensor{x(4, 5), ints(1, 2), ints(-1, 2)}, 1},
	{"StridedSlice", strided(0, 0, 0, 0, 0), []*tensor.Tensor{x(9, 8), ints(-7, 6), ints(7, 0), ints(2, -1)}, 1},
	{"StridedSlice", strided(0, 0, 0, 0, 0), []*tensor.Tensor{x(9, 8, 7), ints(-10, 8, 7), ints(10, -9, -8), ints(2, -3, -1)}, 1},
	{"StridedSlice", strided(0, 0, 0, 0, 0), []*tensor.Tensor{x(9, 8, 7), ints(9, -9, -8), ints(9, -8, 7), ints(1, -1, 1)}, 1},
	{"StridedSlice", strided(0, 1, 2, 4, 8), []*tensor.Tensor{x(9, 8, 7, 6), ints(3, 0, 0, 1), ints(0, 0, 0, 2), ints(1, 1, 1, 1)}, 1},
	{"Conv2D", window, []*tensor.Tensor{x(2, 7, 8, 3), x(3, 3, 3, 5)}, 1},
	{"DepthwiseConv2dNative", graph.Attrs{"strides": []int64{1, 2, 2, 1}, "padding": []byte("VALID")}, []*tensor.Tensor{x(2, 7, 8, 3), x(3, 3, 3, 2)}, 1},
	{"MaxPool", window, []*tensor.Tensor{x(2, 7, 8, 3)}, 1},
	{"AvgPool", graph.Attrs{"strides": []int64{1, 2, 2, 1}, "padding": []byte("VALID"), "ksize": []int64{1, 2, 3, 1}}, []*tensor.Tensor{x(2, 7, 8, 3)}, 1},
	{"ResizeBilinear", nil, []*tensor.Tensor{x(2, 3, 4, 5), ints(6, 7)}, 1},
	{"UnsortedSegmentSum", nil, []*tensor.Tensor{x(4, 3), ints(0, 1, 0, 1), scalar(5)}, 1},
}

func tensor2(v ...int32) *tensor.Tensor {
	t, err := tensor.FromSlice(v, len(v)/2, 2)
	if err != nil {
		panic(err)
	}
	return t
}

// node makes a node of an example; its inputs are placeholders.
func node(e example) (*graph.Node, []infer.Value, []eager.Value) {
	n := &graph.Node{Name: "n", Op: e.op, Attrs: graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "N": int64(len(e.in) - 1)}}
	for k, v := range e.attrs {
		n.Attrs[k] = v
	}
	var known []infer.Value
	var values []eager.Value
	for _, t := range e.in {
		p := &graph.Node{Name: "p", Op: "Placeholder", Outputs: []graph.Type{{DType: t.DType, Shape: graph.ShapeOf(t.Shape...)}}}
		n.Inputs = append(n.Inputs, p.Out(0))
		v := infer.Shaped(t.Shape...)
		if t.DType == tensor.Int32 {
			v = infer.Of(t)
		}
		known, values = append(known, v), append(values, eager.Value{T: t})
	}
	out := tensor.Float32
	if d, ok := e.attrs["out_type"].(tensor.DType); ok {
		out = d
	}
	for range e.outs {
		n.Outputs = append(n.Outputs, graph.Type{DType: out, Shape: graph.Shape{UnknownRank: true}})
	}
	return n, known, values
}

// TestPanicsTell: if a rule panics on its inputs, the error describes them.
func TestPanicsTell(t *testing.T) {
	n := &graph.Node{Name: "n", Op: "Fill", Outputs: make([]graph.Type, 1)}
	_, err := infer.Node(n, []infer.Value{infer.Of(ints(2, 3))})
	if err == nil || !strings.Contains(err.Error(), "1 inputs of shapes [2]") {
		t.Errorf("got %v", err)
	}
}

// TestRulesAgreeWithKernels computes each example and compares the sizes, and the values that are known.
func TestRulesAgreeWithKernels(t *testing.T) {
	for i, e := range examples {
		t.Run(fmt.Sprintf("%d %s", i, e.op), func(t *testing.T) {
			n, known, values := node(e)
			got, err := infer.Node(n, known)
			if err != nil {
				t.Fatal(err)
			}
			if !eager.Supported(e.op) {
				t.Skip("skipped: there is no kernel to compare with")
			}
			want, err := eager.Run(context.Background(), n, values, &eager.Env{})
			if err != nil {
				t.Fatal(err)
			}
			for k := range got {
				if !got[k].Known || !slices.Equal(got[k].Shape, want[k].T.Shape) {
					t.Errorf("output %d: inferred %v (%v), computed %v", k, got[k].Shape, got[k].Known, want[k].T.Shape)
				}
				if v := got[k].T; v != nil && (v.DType != want[k].T.DType || !bytes.Equal(v.Bytes, want[k].T.Bytes)) {
					t.Errorf("output %d: inferred %v %v, computed %v %v", k, v.DType, v.Bytes, want[k].T.DType, want[k].T.Bytes)
				}
			}
		})
	}
}

// TestUnknownStaysUnknown: without values or sizes nothing is claimed.
func TestUnknownStaysUnknown(t *testing.T) {
	for _, e := range examples {
		n, known, _ := node(e)
		for i := range known {
			known[i] = infer.Value{}
		}
		got, err := infer.Node(n, known)
		if err != nil {
			t.Errorf("%s: %v", e.op, err)
		}
		for _, v := range got {
			if v.Known {
				t.Errorf("%s: inferred %v of nothing", e.op, v.Shape)
			}
		}
	}
}

// TestAxisOfExpandDims: an axis is unknown, valid, or an error.
func TestAxisOfExpandDims(t *testing.T) {
	for _, c := range []struct {
		axis infer.Value
		want []int // nil: not known
		bad  bool
	}{
		{infer.Value{}, nil, false},
		{infer.Of(scalar(-4)), nil, true}, {infer.Of(scalar(-3)), []int{1, 2, 3}, false}, {infer.Of(scalar(-1)), []int{2, 3, 1}, false},
		{infer.Of(scalar(0)), []int{1, 2, 3}, false}, {infer.Of(scalar(2)), []int{2, 3, 1}, false}, {infer.Of(scalar(3)), nil, true},
	} {
		n, _, _ := node(example{"ExpandDims", nil, []*tensor.Tensor{x(2, 3), scalar(0)}, 1})
		got, err := infer.Node(n, []infer.Value{infer.Shaped(2, 3), c.axis})
		if (err != nil) != c.bad || err == nil && (got[0].Known != (c.want != nil) || !slices.Equal(got[0].Shape, c.want)) {
			t.Errorf("axis %v: got %v, %v, expected %v", c.axis, got, err, c.want)
		}
	}
}

// TestHostileInputs: any inputs give a result or an error, and no size is negative or beyond memory.
func TestHostileInputs(t *testing.T) {
	sizes := []int{0, 1, 2, 3, 7, 1 << 20, 1 << 40, 1 << 62, -1}
	rapid.Check(t, func(r *rapid.T) {
		e := examples[rapid.IntRange(0, len(examples)-1).Draw(r, "example")]
		n, known, _ := node(e)
		for i := range known {
			switch rapid.IntRange(0, 3).Draw(r, "change") {
			case 0:
				known[i] = infer.Shaped(rapid.SliceOfN(rapid.SampledFrom(sizes), 0, 5).Draw(r, "shape")...)
			case 1:
				known[i] = infer.Of(ints(rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, -1, 2, -5, 1 << 30, -1 << 31}), 0, 4).Draw(r, "value")...))
			case 2:
				known = known[:i]
			}
			if i >= len(known) {
				break
			}
		}
		got, err := infer.Node(n, known)
		if err != nil {
			return
		}
		for _, v := range got {
			if _, err := infer.Elements(v.Shape); v.Known && err != nil {
				r.Fatalf("%s: %v", e.op, err)
			}
		}
	})
}
