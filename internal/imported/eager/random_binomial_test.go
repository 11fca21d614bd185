package eager

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestBinomialTypes: counts and probabilities have the same type, float32 or float64.
func TestBinomialTypes(t *testing.T) {
	all := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.Int32}
	for _, counts := range all {
		for _, probs := range all {
			n := &graph.Node{Name: "n", Op: "StatelessRandomBinomial", Attrs: graph.Attrs{"T": counts, "dtype": tensor.Float32}}
			in := []Value{{T: tensorOf([]int64{1}, 1)}, {T: tensorOf([]int64{1, 2}, 2)}, {T: tensor.New(counts, 1)}, {T: tensor.New(probs, 1)}}
			_, err := Run(t.Context(), n, in, &Env{})
			if works := counts == probs && counts.Size() >= 4 && counts.Float(); works != (err == nil) || errors.Is(err, errPanic) {
				t.Errorf("counts of %v, probs of %v: %v", counts, probs, err)
			}
		}
	}
}
