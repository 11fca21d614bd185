package eager_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// TestLengthsOfRanges: the number of steps is a quotient of the range's type, as in TensorFlow 2.15, and exact for integers.
func TestLengthsOfRanges(t *testing.T) {
	for _, op := range []string{"Range", "RaggedRange"} {
		lengthOf(t, op, 3, float32(0), 0.3, 0.1)
		lengthOf(t, op, 3, float32(1), 0.4, -0.2)
		lengthOf(t, op, 10, float32(0), 1, 0.1)
		lengthOf(t, op, 3, 0, 0.3, 0.1)
		lengthOf(t, op, 3, int64(1<<53+1), 1<<53+4, 1)
		lengthOf(t, op, 4, int64(5), -6, -3)
		lengthOf(t, op, 0, int32(7), 7, 2)
		lengthOf(t, op, 3, int32(-1<<31), 1<<31-1, 1<<31-1)
	}
}

func lengthOf[T tensor.Element](t *testing.T, op string, want int, start, limit, delta T) {
	t.Helper()
	n := &graph.Node{Name: "n", Op: op, Outputs: make([]graph.Type, 1)}
	last := 0
	if op == "RaggedRange" {
		n.Outputs, last = make([]graph.Type, 2), 1
	}
	out, err := eager.Run(t.Context(), n, []eager.Value{{T: tensor.Scalar(start)}, {T: tensor.Scalar(limit)}, {T: tensor.Scalar(delta)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := out[last].T.Shape; !slices.Equal(got, []int{want}) {
		t.Errorf("%s from %v to %v by %v has shape %v, expected [%d]", op, start, limit, delta, got, want)
	}
}
