package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// withoutShapes is the error for a queue whose elements cannot be stacked.
func withoutShapes(k queue.Kind) error {
	if k == queue.Priority {
		return fmt.Errorf("%s's DequeueMany requires the components to have specified shapes.", k)
	}
	return fmt.Errorf("%s's DequeueMany and DequeueUpTo require the components to have specified shapes.", k)
}

// fitsMany fails, before any element is dequeued, if n of them exceed the size of a tensor.
func (c call) fitsMany(s queue.Spec, n int) error {
	most := maxBatch
	for i, shape := range s.Shapes {
		if each := product(least(shape)) * max(s.Types[i].Size(), 1); each > 0 {
			most = min(most, c.env.limit()/each)
		}
	}
	if n > most {
		return fmt.Errorf("%d elements at once: expected at most %d: %w", n, most, ErrLimit)
	}
	return nil
}

// least returns a partial shape with 0 for its unknown sizes.
func least(shape []int) []int {
	shape = slices.Clone(shape)
	for i := range shape {
		shape[i] = max(shape[i], 0)
	}
	return shape
}

// stackElements sets the outputs to the stacked components of elements. Smaller ones are padded.
func (c call) stackElements(s queue.Spec, elements []queue.Element) error {
	for i, partial := range s.Shapes {
		shape := least(partial)
		for _, e := range elements {
			for k, d := range e[i].Shape {
				shape[k] = max(shape[k], d)
			}
		}
		out, err := c.output(i, s.Types[i], slices.Concat([]int{len(elements)}, shape)...)
		if err != nil {
			return err
		}
		width := product(shape)
		for k, e := range elements {
			if slices.Equal(e[i].Shape, shape) {
				copyCells(out, k*width, e[i], 0, width)
			} else {
				copyPadded(out, k*width, shape, e[i])
			}
		}
	}
	return nil
}

// copyPadded copies t to the corner of a larger shape that starts at element `at` of out.
func copyPadded(out *tensor.Tensor, at int, shape []int, t *tensor.Tensor) {
	if t.Len() == 0 {
		return
	}
	last := len(shape) - 1
	n := t.Shape[last]
	for from := 0; from < t.Len(); from += n {
		to, size, rest := 0, shape[last], from/n
		for k := last - 1; k >= 0; k-- {
			to += rest % t.Shape[k] * size
			rest /= t.Shape[k]
			size *= shape[k]
		}
		copyCells(out, at+to, t, from, n)
	}
}
