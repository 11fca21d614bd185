package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

func drawBinomial(d drawing, c call) error {
	if d.in(c, "counts").DType == tensor.Float32 {
		return binomials[float32](d, c)
	}
	return binomials[float64](d, c)
}

// binomials draws numbers of successes: counts and probs have a shape together, which is the end of the result's.
func binomials[T float32 | float64](d drawing, c call) error {
	counts, probs := d.in(c, "counts"), d.in(c, "probs")
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
	n, p := broadcastValues[T](counts, own), broadcastValues[T](probs, own)
	places := 1
	for _, k := range shape[:len(shape)-len(own)] {
		places *= k
	}
	counters := 256 * (uint64(len(n)) * 200 * uint64(places+3) / 4) // as the op on a variable moves the state on
	return d.places(c, shape, len(n), counters, func(r kernels.Rand, i, k int) (float64, error) {
		return kernels.Binomial(r, uint64(i), kernels.BinomialParameters[T]{Count: n[k], Probability: p[k]}), nil
	})
}

// broadcastValues returns the elements of t as a tensor of a shape has them that t is broadcast to.
func broadcastValues[T tensor.Element](t *tensor.Tensor, shape []int) []T {
	all, steps, values := make([]T, product(shape)), spread(t.Shape, shape).steps, tensor.Values[T](t)
	for i := range all {
		rest, from := i, 0
		for d := len(shape) - 1; d >= 0; d-- {
			from += rest % shape[d] * steps[d]
			rest /= shape[d]
		}
		all[i] = values[from]
	}
	return all
}
