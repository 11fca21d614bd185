package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sparseBincount counts the values of a sparse vector, or of each row of a sparse matrix.
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
		if r := sparse.rank(); r != 1 && r != 2 {
			return fmt.Errorf("expected a sparse vector or matrix, got rank %d", r)
		}
		weights := tensor.Values[T](c.t(4))
		if len(weights) > 0 && !slices.Equal(c.t(4).Shape, c.t(1).Shape) {
			return fmt.Errorf("Weights and values must have the same shape. Weight shape: %s; values shape: %s", shapeText(c.t(4).Shape), shapeText(c.t(1).Shape))
		}
		shape := []int{size}
		if sparse.rank() == 2 {
			shape = []int{sparse.shape[0], size}
		}
		dst, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		for i, v := range ids {
			row := 0
			if sparse.rank() == 2 {
				row = int(sparse.row(i)[0])
			}
			switch {
			case v < 0:
				return fmt.Errorf("Input must be non-negative")
			case row < 0 || len(shape) > 1 && row >= shape[0]:
				return fmt.Errorf("indices[%d] = %v: expected a row below %d", i, sparse.row(i), shape[0])
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
