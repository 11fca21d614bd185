package eager

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// rowOrder returns the sorted order of the slices along the first axis, NaN before all numbers.
func rowOrder(*site) (kernel, error) {
	return func(c call) error {
		t := c.t(0)
		if len(t.Shape) == 0 {
			return fmt.Errorf("expected at least one dimension")
		}
		compare, err := comparing(t)
		if err != nil {
			return err
		}
		n, width := t.Shape[0], product(t.Shape[1:])
		if err := c.room(n, 16); err != nil {
			return err
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			for k := range width {
				if d := compare(a*width+k, b*width+k); d != 0 {
					return d
				}
			}
			return 0
		})
		return c.outputInts(0, tensor.Int32, order, n)
	}, nil
}

// comparing returns the function that compares two elements of a tensor.
func comparing(t *tensor.Tensor) (func(i, j int) int, error) {
	switch t.DType {
	case tensor.String:
		return func(i, j int) int { return bytes.Compare(t.Strings[i], t.Strings[j]) }, nil
	case tensor.Int64:
		return orderOf[int64](t), nil
	case tensor.Uint64:
		return orderOf[uint64](t), nil
	}
	if t.DType.Size() == 0 || isComplex(t.DType) {
		return nil, fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
	}
	return func(i, j int) int { return cmp.Compare(t.Float(i), t.Float(j)) }, nil
}

func orderOf[T int64 | uint64](t *tensor.Tensor) func(i, j int) int {
	v := tensor.Values[T](t)
	return func(i, j int) int { return cmp.Compare(v[i], v[j]) }
}
