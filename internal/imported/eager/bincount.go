package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// bincountOps count values.
var bincountOps = map[*ops.Def]maker{
	ops.Bincount:       bincount(0),
	ops.DenseBincount:  bincount(0),
	ops.RaggedBincount: bincount(1),
	ops.SparseBincount: sparseBincount,
}

// bincount returns the maker of an op whose values are input `at`, after the row
// splits if there are any.
func bincount(at int) maker {
	return func(s *site) (kernel, error) {
		binary := s.boolean("binary_output", false)
		t := numbers(countsOf[float32](at, binary), countsOf[float64](at, binary), nil, nil, countsOf[int32](at, binary), countsOf[int64](at, binary), nil, nil, nil, nil)
		return t.on(at + 2), nil
	}
}

func countsOf[T number](at int, binary bool) kernel {
	return func(c call) error {
		values, weights := c.t(at), c.t(at+2)
		ids, err := c.integers("input", values)
		if err != nil {
			return err
		}
		size, err := integer("size", c.t(at+1))
		if err != nil {
			return err
		}
		if size < 0 {
			return fmt.Errorf("size (%d) must be non-negative", size)
		}
		if len(values.Shape) > 2 || at > 0 && len(values.Shape) != 1 {
			return fmt.Errorf("Shape must be at most rank 2 but is rank %d", len(values.Shape))
		}
		w := tensor.Values[T](weights)
		if len(w) > 0 && !slices.Equal(weights.Shape, values.Shape) {
			return fmt.Errorf("weights must be the same shape as the values or of no elements: got %v and %v", weights.Shape, values.Shape)
		}
		rows, width := 1, len(ids)
		shape := []int{size}
		var splits []int
		if len(values.Shape) == 2 {
			rows, width = values.Shape[0], values.Shape[1]
			shape = []int{rows, size}
		}
		if at > 0 {
			if splits, err = splitsOf(c, "splits", c.t(0), len(ids)); err != nil {
				return err
			}
			rows = len(splits) - 1
			shape = []int{rows, size}
		}
		dst, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		for r := range rows {
			lo, hi := r*width, (r+1)*width
			if splits != nil {
				lo, hi = splits[r], splits[r+1]
			}
			for i := lo; i < hi; i++ {
				v := ids[i]
				switch {
				case v < 0:
					return fmt.Errorf("Input arr must be non-negative!")
				case v >= size:
				case binary:
					dst[r*size+v] = 1
				case len(w) > 0:
					dst[r*size+v] += w[i]
				default:
					dst[r*size+v]++
				}
			}
		}
		return nil
	}
}
