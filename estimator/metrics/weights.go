package metrics

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// weighting gives the weight of each element: element i has values[i/run].
type weighting struct {
	values []float64
	run    int
}

func (w weighting) at(i int) float64 { return w.values[i/w.run] }

// newWeighting broadcasts weights over elements of the given shape; nil means all 1.
// Weights are aligned with the leading (batch) dimensions.
func newWeighting(t *tensor.Tensor, shape []int) (weighting, error) {
	n := tensor.NumElements(shape)
	if t == nil {
		return weighting{values: []float64{1}, run: max(n, 1)}, nil
	}
	values, err := numbers[float64]("weights", t)
	if err != nil {
		return weighting{}, err
	}
	dims := t.Shape
	for len(dims) > 0 && dims[len(dims)-1] == 1 {
		dims = dims[:len(dims)-1]
	}
	fits, prefix := len(dims) <= len(shape), true
	for i := 0; fits && i < len(dims); i++ {
		fits = dims[i] == 1 || dims[i] == shape[i]
		prefix = prefix && dims[i] == shape[i]
	}
	if !fits {
		return weighting{}, fmt.Errorf("weights: expected a scalar, one per example or a shape that broadcasts to %v, got %v", shape, t.Shape)
	}
	if !prefix {
		values, dims = expand(values, dims, shape), shape
	}
	return weighting{values: values, run: max(1, tensor.NumElements(shape[len(dims):]))}, nil
}

// expand repeats values of shape dims, which may have dimensions of 1, over all of
// shape.
func expand(values []float64, dims, shape []int) []float64 {
	out := make([]float64, tensor.NumElements(shape))
	for i := range out {
		from, stride, rest := 0, 1, i
		for d := len(shape) - 1; d >= 0; d-- {
			at := rest % shape[d]
			rest /= shape[d]
			if d < len(dims) {
				if dims[d] != 1 {
					from += at * stride
				}
				stride *= dims[d]
			}
		}
		out[i] = values[from]
	}
	return out
}
