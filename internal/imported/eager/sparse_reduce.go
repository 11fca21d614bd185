package eager

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sparseMathOps compute with sparse tensors, or are the gradients of such ops.
var sparseMathOps = map[*ops.Def]maker{
	ops.SparseReduceSum: sparseReduce(false, false), ops.SparseReduceMax: sparseReduce(true, false),
	ops.SparseReduceSumSparse: sparseReduce(false, true), ops.SparseReduceMaxSparse: sparseReduce(true, true),
	ops.SparseAdd:            plain(numbers(sparseAdd[float32], sparseAdd[float64], sparseAdd[int8], sparseAdd[int16], sparseAdd[int32], sparseAdd[int64], nil, nil, nil, nil).on(1)),
	ops.SparseAddGrad:        plain(sparseAddGrad),
	ops.SparseTensorDenseAdd: plain(sparseDenseAdd),
	ops.SparseSparseMaximum: plain(numbers(sparsePairs(greater[float32]), sparsePairs(greater[float64]), sparsePairs(greater[int8]), sparsePairs(greater[int16]), sparsePairs(greater[int32]), sparsePairs(greater[int64]),
		sparsePairs(greater[uint8]), sparsePairs(greater[uint16]), nil, nil).on(1)),
	ops.SparseSparseMinimum: plain(numbers(sparsePairs(smaller[float32]), sparsePairs(smaller[float64]), sparsePairs(smaller[int8]), sparsePairs(smaller[int16]), sparsePairs(smaller[int32]), sparsePairs(smaller[int64]),
		sparsePairs(smaller[uint8]), sparsePairs(smaller[uint16]), nil, nil).on(1)),
	ops.SparseSoftmax:           plain(floats(sparseSoftmax[float32], sparseSoftmax[float64]).on(1)),
	ops.SparseSplit:             sparseSplit,
	ops.SparseSliceGrad:         plain(sparseSliceGrad),
	ops.SparseFillEmptyRowsGrad: plain(fillEmptyRowsGrad),
}

func greater[T number](a, b T) T { return max(a, b) }
func smaller[T number](a, b T) T { return min(a, b) }

// sparseReduce reduces dimensions of a sparse tensor; the result is dense or sparse. Dense elements without entries are 0.
func sparseReduce(largest, sparse bool) maker {
	return func(s *site) (kernel, error) {
		keep := s.boolean("keep_dims", false)
		on := func(c call) (sparseSpan, error) { return sparseSpanOf(c, keep, largest, sparse) }
		return numbers(reduceSparse[float32](on), reduceSparse[float64](on), reduceSparse[int8](on), reduceSparse[int16](on), reduceSparse[int32](on), reduceSparse[int64](on),
			reduceSparse[uint8](on), reduceSparse[uint16](on), nil, nil).on(1), nil
	}
}

// sparseSpan describes the reduction of a sparse tensor's entries.
type sparseSpan struct {
	coords
	away            []bool // the reduced dimensions
	keep            bool   // they stay, with size 1
	largest, sparse bool
}

func sparseSpanOf(c call, keep, largest, sparse bool) (r sparseSpan, err error) {
	if r.coords, err = coordsOf(c.t(0), c.t(1), c.t(2)); err != nil {
		return r, err
	}
	if err := r.check(); err != nil {
		return r, err
	}
	axes, err := c.integers("reduction_axes", c.t(3))
	if err != nil {
		return r, err
	}
	if len(c.t(3).Shape) > 1 {
		return r, fmt.Errorf("Expected reduction_axes to be a scalar or a vector; got shape: %s", shapeText(c.t(3).Shape))
	}
	r.away, r.keep, r.largest, r.sparse = make([]bool, r.rank()), keep, largest, sparse
	for _, a := range axes {
		if a < -r.rank() || a >= r.rank() {
			return r, fmt.Errorf("Invalid reduction dimension %d, for input with %d dimensions.", a, r.rank())
		}
		r.away[(a+r.rank())%r.rank()] = true
	}
	return r, nil
}

// out returns the shape of the result.
func (r sparseSpan) out() []int {
	shape := []int{}
	for i, d := range r.shape {
		switch {
		case !r.away[i]:
			shape = append(shape, d)
		case r.keep:
			shape = append(shape, 1)
		}
	}
	return shape
}

// place returns the index in the result for entry i.
func (r sparseSpan) place(i int) []int64 {
	to := make([]int64, 0, r.rank())
	for k, v := range r.row(i) {
		switch {
		case !r.away[k]:
			to = append(to, v)
		case r.keep:
			to = append(to, 0)
		}
	}
	return to
}

func reduceSparse[T number](span func(c call) (sparseSpan, error)) kernel {
	return func(c call) error {
		r, err := span(c)
		if err != nil {
			return err
		}
		shape, values := r.out(), tensor.Values[T](c.t(1))
		if err := c.room(r.n, 8*(r.rank()+4)); err != nil {
			return err
		}
		places, order := make([][]int64, r.n), make([]int, r.n)
		for i := range order {
			places[i], order[i] = r.place(i), i
		}
		slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(places[a], places[b]) })
		var at [][]int64
		var results []T
		for _, i := range order {
			last := len(at) - 1
			switch {
			case last < 0 || !slices.Equal(at[last], places[i]):
				at, results = append(at, places[i]), append(results, values[i])
			case r.largest:
				results[last] = max(results[last], values[i])
			default:
				results[last] += values[i]
			}
		}
		if r.sparse {
			return sparseOutput(c, at, results, shape)
		}
		dst, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		for i, index := range at {
			place := 0
			for k, v := range index {
				place = place*shape[k] + int(v)
			}
			dst[place] = results[i]
		}
		return nil
	}
}

// sparseOutput sets outputs 0 to 2 to a sparse tensor; with a nil shape, output 2 is zeros.
func sparseOutput[T tensor.Element](c call, at [][]int64, values []T, shape []int) error {
	rank := len(shape)
	if shape == nil && len(at) > 0 {
		rank = len(at[0])
	}
	indices, err := outputOf[int64](c, 0, len(at), rank)
	if err != nil {
		return err
	}
	for i, index := range at {
		copy(indices[i*rank:], index)
	}
	dst, err := outputOf[T](c, 1, len(values))
	if err != nil {
		return err
	}
	copy(dst, values)
	return c.outputInts(2, tensor.Int64, shape, rank)
}

// sparseTwo reads two sparse tensors of the same shape, from three inputs each.
func sparseTwo(c call) (a, b coords, err error) {
	if a, err = coordsOf(c.t(0), c.t(1), c.t(2)); err != nil {
		return a, b, err
	}
	if b, err = coordsOf(c.t(3), c.t(4), c.t(5)); err != nil {
		return a, b, err
	}
	switch {
	case c.t(1).DType != c.t(4).DType:
		err = fmt.Errorf("expected values of one type, got %v and %v", c.t(1).DType, c.t(4).DType)
	case a.rank() != b.rank():
		err = fmt.Errorf("Ranks of input tensors must match, but saw ranks: %d and %d", a.rank(), b.rank())
	case !slices.Equal(a.shape, b.shape):
		err = fmt.Errorf("Input shapes must match: got %v and %v", a.shape, b.shape)
	}
	return a, b, cmp.Or(err, a.check(), b.check())
}

// walkBoth calls f for each index of two sparse tensors, in order. An entry number of -1 means no entry.
func walkBoth(a, b coords, f func(index []int64, i, j int)) {
	for i, j := 0, 0; i < a.n || j < b.n; {
		side := 0
		switch {
		case i == a.n:
			side = 1
		case j == b.n:
			side = -1
		default:
			side = slices.Compare(a.row(i), b.row(j))
		}
		switch {
		case side < 0:
			f(a.row(i), i, -1)
			i++
		case side > 0:
			f(b.row(j), -1, j)
			j++
		default:
			f(a.row(i), i, j)
			i, j = i+1, j+1
		}
	}
}

// sparseAdd adds sparse tensors. It drops sums of two entries whose absolute value is below a threshold.
func sparseAdd[T int8 | int16 | int32 | int64 | float32 | float64](c call) error {
	a, b, err := sparseTwo(c)
	if err != nil {
		return err
	}
	if c.t(6).DType != c.t(1).DType || c.t(6).Len() != 1 || len(c.t(6).Shape) != 0 {
		return fmt.Errorf("The magnitude threshold must be a scalar: got shape %s", shapeText(c.t(6).Shape))
	}
	if err := c.room(a.n+b.n, 8*(a.rank()+4)); err != nil {
		return err
	}
	x, y, least := tensor.Values[T](c.t(1)), tensor.Values[T](c.t(4)), tensor.Values[T](c.t(6))[0]
	var at [][]int64
	var sums []T
	walkBoth(a, b, func(index []int64, i, j int) {
		var sum T
		if i >= 0 {
			sum = x[i]
		}
		if j >= 0 {
			sum += y[j]
		}
		if i < 0 || j < 0 || least <= max(sum, -sum) {
			at, sums = append(at, index), append(sums, sum)
		}
	})
	return sparseOutput(c, at, sums, a.shape)
}

// sparsePairs applies a function to the values of two sparse tensors at each index; a missing entry is 0.
func sparsePairs[T number](f func(a, b T) T) kernel {
	return func(c call) error {
		a, b, err := sparseTwo(c)
		if err != nil {
			return err
		}
		if err := c.room(a.n+b.n, 8*(a.rank()+4)); err != nil {
			return err
		}
		x, y := tensor.Values[T](c.t(1)), tensor.Values[T](c.t(4))
		var at [][]int64
		var values []T
		walkBoth(a, b, func(index []int64, i, j int) {
			var p, q T
			if i >= 0 {
				p = x[i]
			}
			if j >= 0 {
				q = y[j]
			}
			at, values = append(at, index), append(values, f(p, q))
		})
		all := c
		all.out = make([]Value, 3)
		if err := sparseOutput(all, at, values, a.shape); err != nil {
			return err
		}
		copy(c.out, all.out)
		return nil
	}
}

// sparseAddGrad returns, for each entry of both operands, the gradient at its index, or 0 if the sum dropped it.
func sparseAddGrad(c call) error {
	grad := c.t(0)
	var parts [3]coords
	for k := range parts {
		t := c.t(1 + k)
		if t.DType != tensor.Int64 || len(t.Shape) != 2 || t.Shape[1] != c.t(1).Shape[1] {
			return fmt.Errorf("expected indices of one rank, got %v of shape %v", t.DType, t.Shape)
		}
		parts[k] = coords{index: tensor.Values[int64](t), shape: make([]int, t.Shape[1]), n: t.Shape[0]}
	}
	sum := parts[2]
	if len(grad.Shape) != 1 || grad.Shape[0] != sum.n {
		return fmt.Errorf("expected a gradient for each of %d sums, got shape %v", sum.n, grad.Shape)
	}
	for k, p := range parts[:2] {
		out, err := c.output(k, grad.DType, p.n)
		if err != nil {
			return err
		}
		walkBoth(p, sum, func(_ []int64, i, j int) {
			if i >= 0 && j >= 0 {
				copyCells(out, i, grad, j, 1)
			}
		})
	}
	return nil
}

// sparseDenseAdd adds the entries of a sparse tensor to a dense one.
func sparseDenseAdd(c call) error {
	s, values, b, err := c.sparseAndDense()
	if err != nil {
		return err
	}
	if !slices.Equal(s.shape, b.Shape) || values.DType != b.DType {
		return fmt.Errorf("Dimensions of a and b do not match: got %v of type %v and %v of type %v", s.shape, values.DType, b.Shape, b.DType)
	}
	if err := s.check(); err != nil {
		return err
	}
	out, err := c.output(0, b.DType, b.Shape...)
	if err != nil {
		return err
	}
	copyCells(out, 0, b, 0, b.Len())
	places, steps := make([]int, s.n), contiguous(s.shape).steps
	for i := range places {
		for k, v := range s.row(i) {
			places[i] += int(v) * steps[k]
		}
	}
	return addSlices(out, places, values, 1)
}

var errSparseRank = errors.New("Input should be at least 2-D")
