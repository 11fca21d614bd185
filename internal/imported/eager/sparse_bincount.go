package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sparseBincount counts the values of a sparse vector, or of each row if a sparse tensor has more dimensions.
func sparseBincount(s *site) (kernel, error) {
	b := s.boolean("binary_output", false)
	return numbers(sparseBins[float32](b), sparseBins[float64](b), nil, nil, sparseBins[int32](b), sparseBins[int64](b), nil, nil, nil, nil).on(ops.SparseBincount.Input("weights")), nil
}

func sparseBins[T number](binary bool) kernel {
	return func(c call) error {
		size, err := integer("size", c.t(3))
		if err != nil {
			return err
		}
		if size < 0 {
			return fmt.Errorf("size (%d) must be non-negative", size)
		}
		sparse, err := coordsOf(c.t(0), c.t(1), c.t(2))
		if err != nil {
			return err
		}
		ids, err := c.integers("values", c.t(1))
		if err != nil {
			return err
		}
		if sparse.rank() == 0 {
			return fmt.Errorf("expected a sparse tensor of at least one dimension, got a scalar")
		}
		if err := sparse.check(); err != nil {
			return err
		}
		weights := tensor.Values[T](c.t(4))
		rows := sparse.rank() > 1
		if n := len(weights); n > 0 && n != len(ids) && !binary && (len(ids) > 0 || !rows) {
			return fmt.Errorf("Input indices and weights must have the same size, got %d and %d", len(ids), n)
		}
		shape := []int{size}
		if rows {
			shape = []int{sparse.shape[0], size}
		}
		dst, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		for i, v := range ids {
			row := 0
			if rows {
				row = int(sparse.row(i)[0])
			}
			switch {
			case v < 0:
				return fmt.Errorf("Input must be non-negative")
			case v >= size:
			case binary:
				dst[row*size+v] = 1
			case len(weights) > 0:
				dst[row*size+v] += weights[i]
			default:
				dst[row*size+v]++
			}
		}
		return nil
	}
}
