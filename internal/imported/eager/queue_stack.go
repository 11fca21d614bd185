package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// withoutShapes is the error of a queue of elements that cannot be stacked.
func withoutShapes(k queue.Kind) error {
	if k == queue.Priority {
		return fmt.Errorf("%s's DequeueMany requires the components to have specified shapes.", k)
	}
	return fmt.Errorf("%s's DequeueMany and DequeueUpTo require the components to have specified shapes.", k)
}

// fitsMany fails where n elements are more than a tensor may have, before any is taken out.
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

// least is a partial shape with 0 for what is not known.
func least(shape []int) []int {
	shape = slices.Clone(shape)
	for i := range shape {
		shape[i] = max(shape[i], 0)
	}
	return shape
}

// stackElements sets the outputs to the components of elements, with a new first dimension. Smaller ones are padded.
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

// copyPadded copies t to the beginning of the part of out that starts at a cell and has a larger shape.
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
