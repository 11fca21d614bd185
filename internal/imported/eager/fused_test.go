package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// counted is a tensor of small positive and negative numbers.
func counted(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, shape...)
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = float32(i%7)/2 - 1.4
	}
	return t
}

// TestFused: fused ops do the same as the ops that they stand for.
func TestFused(t *testing.T) {
	s := newSession(t)
	x, filter, bias := counted(2, 4, 5, 3), counted(2, 2, 3, 2), counted(6)
	window := graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME")}
	want := s.run("DepthwiseConv2dNative", window, x, filter)
	want = s.run("Tanh", nil, s.run("BiasAdd", nil, want, bias))
	got := s.run("_FusedDepthwiseConv2dNative", graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME"),
		"fused_ops": [][]byte{[]byte("BiasAdd"), []byte("Tanh")}}, x, filter, bias)
	if err := near(got.T, want.T, 0); err != nil {
		t.Error(err)
	}
	scale, none := counted(3), tensor.New(tensor.Float32, 0)
	want = s.run("FusedBatchNormV3", graph.Attrs{"is_training": true}, x, scale, scale, none, none)
	want = s.run("Relu", nil, s.run("AddV2", nil, want, x))
	got = s.run("_FusedBatchNormEx", graph.Attrs{"is_training": true, "num_side_inputs": int64(1), "activation_mode": []byte("Relu")}, x, scale, scale, none, none, x)
	if err := near(got.T, want.T, 0); err != nil {
		t.Error(err)
	}
	s.refuse("not supported", "_FusedMatMul", graph.Attrs{"fused_ops": [][]byte{[]byte("Assign")}}, counted(2, 2), counted(2, 2))
	s.refuse("not supported", "_UnaryOpsComposition", graph.Attrs{"op_names": [][]byte{[]byte("RandomShuffle")}}, counted(2, 2))
	s.refuse("expected 3 inputs, got 2", "_FusedMatMul", graph.Attrs{"fused_ops": [][]byte{[]byte("BiasAdd")}}, counted(2, 2), counted(2, 2))
}
