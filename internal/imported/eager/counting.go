package eager

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// countingOps count and find elements.
var countingOps = map[*ops.Def]maker{
	ops.HistogramFixedWidth: func(s *site) (kernel, error) {
		d := s.dtype("dtype", tensor.Int32)
		return numbers(histogram[float32](d), histogram[float64](d), nil, nil, histogram[int32](d), histogram[int64](d), nil, nil, nil, nil).on(0), nil
	},
	ops.NthElement: func(s *site) (kernel, error) {
		reverse := s.boolean("reverse", false)
		return numbers(nth[float32](reverse), nth[float64](reverse), nth[int8](reverse), nth[int16](reverse), nth[int32](reverse), nth[int64](reverse),
			nth[uint8](reverse), nth[uint16](reverse), nil, nil).on(0), nil
	},
	ops.UnravelIndex:            plain(unravel),
	ops.ScatterNdNonAliasingAdd: plain(scatterAdded),
	ops.TensorScatterSub:        plain(tensorScatterBy(subtraction)),
	ops.TensorScatterMax:        plain(tensorScatterBy(largest)),
	ops.TensorScatterMin:        plain(tensorScatterBy(smallest)),
	ops.EditDistance:            editDistance,
}

// histogram counts elements in value ranges of equal width; outliers count in the nearest range.
func histogram[T number](d tensor.DType) kernel {
	return func(c call) error {
		limits := c.t(1)
		if limits.DType != c.t(0).DType || limits.Len() != 2 || len(limits.Shape) != 1 {
			return fmt.Errorf("value_range should be a vector of 2 elements, but got shape %s", shapeText(limits.Shape))
		}
		n, err := integer("nbins", c.t(2))
		if err != nil {
			return err
		}
		low, high := tensor.Values[T](limits)[0], tensor.Values[T](limits)[1]
		if n <= 0 {
			return fmt.Errorf("nbins should be a positive number, but got '%d'", n)
		}
		if !(low < high) {
			return fmt.Errorf("value_range should satisfy value_range[0] < value_range[1], but got '[%v, %v]'", low, high)
		}
		if err := c.room(n, 8); err != nil {
			return err
		}
		counts, step := make([]int, n), (float64(high)-float64(low))/float64(n)
		for i, v := range tensor.Values[T](c.t(0)) {
			if v != v {
				return fmt.Errorf("values[%d] is NaN", i)
			}
			at := (min(max(float64(v), float64(low)), float64(high)) - float64(low)) / step
			if !(at < float64(n)) { // the range may be infinite
				at = float64(n - 1)
			}
			counts[int(at)]++
		}
		return c.outputInts(0, d, counts, n)
	}
}

// nth finds the element of each row that has a given rank.
func nth[T number](reverse bool) kernel {
	return func(c call) error {
		x := c.t(0)
		r := len(x.Shape) - 1
		n, err := integer("n", c.t(1))
		switch {
		case err != nil:
			return err
		case n < 0:
			return fmt.Errorf("n must be non-negative but was %d", n)
		case r < 0:
			return fmt.Errorf("Input must be at least rank 1 but is rank 0")
		case n >= x.Shape[r]:
			return fmt.Errorf("Input must have last dimension > n = %d", n)
		}
		width := x.Shape[r]
		if reverse {
			n = width - 1 - n
		}
		dst, err := outputOf[T](c, 0, x.Shape[:r]...)
		if err != nil {
			return err
		}
		if err := c.room(x.Len(), max(x.DType.Size(), 1)); err != nil {
			return err
		}
		all := slices.Clone(tensor.Values[T](x))
		for i := range dst {
			row := all[i*width : (i+1)*width]
			slices.SortFunc(row, cmp.Compare)
			dst[i] = row[n]
		}
		return nil
	}
}

// unravel converts flat indices into coordinates in a tensor of given sizes.
func unravel(c call) error {
	indices, err := c.integers("indices", c.t(0))
	if err != nil {
		return err
	}
	dims, err := c.vector("dims", c.t(1))
	if err != nil {
		return err
	}
	total, err := elements(dims)
	if err != nil {
		return err
	}
	if len(c.t(0).Shape) > 1 {
		return fmt.Errorf("The indices can only be scalar or vector got \"%s\"", shapeText(c.t(0).Shape))
	}
	if total == 0 {
		return fmt.Errorf("Input dims cannot contain a dim of zero, but dims are %v", dims)
	}
	out, n := make([]int, len(indices)*len(dims)), len(indices)
	for i, v := range indices {
		if v < 0 || v >= total {
			return fmt.Errorf("index is out of bound as with dims")
		}
		for k := len(dims) - 1; k >= 0; k-- {
			out[k*n+i] = v % dims[k]
			v /= dims[k]
		}
	}
	return c.outputInts(0, c.t(0).DType, out, append([]int{len(dims)}, c.t(0).Shape...)...)
}

// scatterAdded adds to a copy of a tensor.
func scatterAdded(c call) error { return tensorScatterAdd(c) }
