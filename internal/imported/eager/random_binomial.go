package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

func drawBinomial(d drawing, c call) error {
	switch t := d.in(c, "counts").DType; t {
	case tensor.Float32:
		return binomials[float32](d, c)
	case tensor.Float64:
		return binomials[float64](d, c)
	default:
		return fmt.Errorf("counts of type %v %w", t, ErrUnsupported)
	}
}

// binomials draws numbers of successes: the broadcast shape of counts and probs is the end of the result's shape.
func binomials[T float32 | float64](d drawing, c call) error {
	counts, probs := d.in(c, "counts"), d.in(c, "probs")
	if err := want("probs", probs, counts.DType); err != nil {
		return err
	}
	own, err := broadcastShape(counts.Shape, probs.Shape)
	if err != nil {
		return fmt.Errorf("counts and probs must have compatible batch dimensions: %v vs. %v", counts.Shape, probs.Shape)
	}
	shape, err := d.shape(c)
	if err != nil {
		return err
	}
	if err := endsWith(shape, own); err != nil {
		return err
	}
	n, p := broadcastAt[T](counts, own), broadcastAt[T](probs, own)
	pairs, places := product(own), product(shape[:len(shape)-len(own)])
	counters := 256 * (uint64(pairs) * 200 * uint64(places+3) / 4) // the op on a variable advances the state by as many
	return d.places(c, shape, pairs, counters, func(r kernels.Rand, i, k int) (float64, error) {
		return kernels.Binomial(r, uint64(i), kernels.BinomialParameters[T]{Count: n(k), Probability: p(k)}), nil
	})
}

// broadcastAt returns a function that returns element i of t broadcast to a shape, which may be far larger than t.
func broadcastAt[T tensor.Element](t *tensor.Tensor, shape []int) func(i int) T {
	steps, values := spread(t.Shape, shape).steps, tensor.Values[T](t)
	return func(i int) T {
		at := 0
		for d := len(shape) - 1; d >= 0; d-- {
			at += i % shape[d] * steps[d]
			i /= shape[d]
		}
		return values[at]
	}
}
