package eager_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// alongFirst runs an op that goes along the first dimension.
func alongFirst(t *testing.T, op string, d tensor.DType, in *tensor.Tensor) *tensor.Tensor {
	t.Helper()
	n := &graph.Node{Name: "n", Op: op, Attrs: graph.Attrs{"T": in.DType}, Outputs: []graph.Type{{DType: d}}}
	if err := eager.Check(n); err != nil {
		t.Fatal(err)
	}
	out, err := eager.Run(t.Context(), n, []eager.Value{{T: in}, {T: tensor.Scalar(int32(0))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].T
}

func mean[T tensor.Element](t *testing.T, want T, in ...T) {
	t.Run(fmt.Sprintf("%T", want), func(t *testing.T) {
		all, err := tensor.FromSlice(in, len(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[T](alongFirst(t, "Mean", all.DType, all)); !slices.Equal(got, []T{want}) {
			t.Errorf("the mean of %v is %v, expected %v", in, got, want)
		}
	})
}

// TestMeansOfIntegers: sums are of 64 bits, and keep all digits, as TensorFlow 2.15 answers.
func TestMeansOfIntegers(t *testing.T) {
	mean[int8](t, 69, 100, 101, 7)
	mean[int8](t, -41, -120, -3, -2)
	mean[uint8](t, 214, 255, 254, 135)
	mean[int32](t, 1431655766, 1<<31-1, 1<<31-1, 5)
	mean[int64](t, 1<<53+1, 1<<53+1)
	mean[int64](t, -2, -7, 2)
	mean[int64](t, -1, 1<<63-1, 1<<63-1)
	mean[uint64](t, 1<<63+5, 1<<63+5)
	mean[int64](t, 0, 0)
}

// TestPlacesOfBooleans: the first true one is the largest, the first false one the smallest.
func TestPlacesOfBooleans(t *testing.T) {
	in := &tensor.Tensor{DType: tensor.Bool, Shape: []int{3, 2}, Bytes: []byte{0, 1, 1, 1, 1, 1}}
	for op, want := range map[string][]int64{"ArgMax": {1, 0}, "ArgMin": {0, 0}} {
		if got := tensor.Values[int64](alongFirst(t, op, tensor.Int64, in)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, expected %v", op, got, want)
		}
	}
	if !slices.Equal(in.Bytes, []byte{0, 1, 1, 1, 1, 1}) || in.DType != tensor.Bool {
		t.Error("the input was changed")
	}
}
