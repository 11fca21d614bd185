package eager

import (
	"bytes"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestChannelsFirst: batch normalization and its gradient agree with channels first and last.
func TestChannelsFirst(t *testing.T) {
	s := newSession(t)
	count := func(n int, shape ...int) *tensor.Tensor {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i*i%17) - 3
		}
		return tensorOf(v, shape...)
	}
	toFirst, toLast := []int32{0, 3, 1, 2}, []int32{0, 2, 3, 1}
	transposed := func(v Value, perm []int32) Value {
		return s.run("Transpose", graph.Attrs{"T": tensor.Float32}, v, tensorOf(perm, 4))
	}
	x, dy := Value{T: count(48, 2, 4, 3, 2)}, Value{T: count(48, 2, 4, 3, 2)}
	scale, offset, none := count(2, 2), count(2, 2), tensor.New(tensor.Float32, 0)
	for name, run := range map[string]func(format string, move func(Value) Value) []Value{
		"forward": func(format string, move func(Value) Value) []Value {
			attrs := graph.Attrs{"T": tensor.Float32, "U": tensor.Float32, "data_format": []byte(format), "is_training": true}
			out, err := s.try("FusedBatchNormV3", attrs, move(x), scale, offset, none, none)
			if err != nil {
				t.Fatal(err)
			}
			return out
		},
		"gradient": func(format string, move func(Value) Value) []Value {
			attrs := graph.Attrs{"T": tensor.Float32, "U": tensor.Float32, "data_format": []byte(format), "is_training": true}
			out, err := s.try("FusedBatchNormGradV3", attrs, move(dy), move(x), scale, offset, count(2, 2), none)
			if err != nil {
				t.Fatal(err)
			}
			return out
		},
	} {
		want := run("NHWC", func(v Value) Value { return v })
		got := run("NCHW", func(v Value) Value { return transposed(v, toFirst) })
		got[0] = transposed(got[0], toLast)
		for i := range want {
			if !slices.Equal(want[i].T.Shape, got[i].T.Shape) || !bytes.Equal(want[i].T.Bytes, got[i].T.Bytes) {
				t.Errorf("%s: output %d: got %v, expected %v", name, i, got[i].T, want[i].T)
			}
		}
	}
	s.refuse("data_format XYZ", "FusedBatchNormV3", graph.Attrs{"data_format": []byte("XYZ")}, x, scale, offset, none, none)
	s.refuse("4 or 5-dimensional", "FusedBatchNormV3", graph.Attrs{"data_format": []byte("NCHW")}, scale, scale, offset, none, none)
}
