package eager_test

import (
	"context"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

func TestSparseSoftmaxCrossEntropy(t *testing.T) {
	run := func(labels *tensor.Tensor) ([]eager.Value, error) {
		logits, err := tensor.FromSlice([]float32{0, 0, 1, 3}, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		n := &graph.Node{Name: "n", Op: "SparseSoftmaxCrossEntropyWithLogits"}
		return eager.Run(context.Background(), n, []eager.Value{{T: logits}, {T: labels}}, &eager.Env{})
	}
	labels, err := tensor.FromSlice([]int64{1, 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(labels)
	if err != nil {
		t.Fatal(err)
	}
	p := 1 / (1 + math.Exp(2))
	for i, want := range [][]float64{{math.Ln2, -math.Log(p)}, {0.5, -0.5, p - 1, 1 - p}} {
		for k, w := range want {
			if got := out[i].T.Float(k); math.Abs(got-w) > 1e-6 {
				t.Errorf("output %d, element %d is %v, expected %v", i, k, got, w)
			}
		}
	}
	bad, err := tensor.FromSlice([]int32{0, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(bad); err == nil {
		t.Error("a label outside of the classes: expected an error")
	}
	if _, err := run(tensor.Scalar(float32(1))); err == nil {
		t.Error("a label that is no vector of integers: expected an error")
	}
}
