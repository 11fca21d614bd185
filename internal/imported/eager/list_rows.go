package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// stacked sets output 0 to the picked tensors, stacked, with unset ones as zeros. There may be none.
func (c call) stacked(l *tensorList, picked []Value, asked []int) error {
	if l.dtype == tensor.Variant {
		return c.stackedVariants(picked)
	}
	shape, err := l.elementShape(asked, l.elements())
	if err != nil {
		return err
	}
	if !defined(shape) {
		return fmt.Errorf("Tried to stack elements of a list whose element shape is not fully defined: %v", shape)
	}
	out, err := c.output(0, l.dtype, slices.Concat([]int{len(picked)}, shape)...)
	if err != nil {
		return err
	}
	n := out.Len() / max(len(picked), 1)
	for i, v := range picked {
		if v.T != nil { // unset elements are zeros
			copyCells(out, i*n, v.T, 0, n)
		}
	}
	return nil
}

func listStack(s *site) (kernel, error) {
	want := s.node.Int("num_elements", -1)
	return func(c call) error {
		l, err := c.list()
		if err != nil {
			return err
		}
		if want >= 0 && want != l.n {
			return fmt.Errorf("Operation expected a list with %d elements but got a list with %d elements.", want, l.n)
		}
		shape, err := partial(c.t(1))
		if err != nil {
			return err
		}
		return c.stacked(l, l.elements(), shape)
	}, nil
}

func listGather(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	indices, err := c.integers("indices", c.t(1))
	if err != nil {
		return err
	}
	shape, err := partial(c.t(2))
	if err != nil {
		return err
	}
	all := l.elements()
	picked := make([]Value, len(indices))
	for k, i := range indices {
		if i < 0 || i >= l.n {
			return fmt.Errorf("Trying to gather element %d in a list with %d elements.", i, l.n)
		}
		picked[k] = all[i]
	}
	return c.stacked(l, picked, shape)
}

// listScatter makes a list of rows at their indices. V2 states the number of elements; -1 means as many as the indices need.
func listScatter(c call) error {
	indices, err := c.integers("indices", c.t(1))
	if err != nil {
		return err
	}
	shape, err := partial(c.t(2))
	if err != nil {
		return err
	}
	rows, err := c.unstacked(c.t(0))
	if err != nil {
		return err
	}
	if len(rows) != len(indices) {
		return fmt.Errorf("expected an index for each of %d rows, got %d", len(rows), len(indices))
	}
	num := -1
	if len(c.in) == 4 {
		if num, err = integer("num_elements", c.t(3)); err != nil {
			return err
		}
	}
	n := max(num, 0)
	for _, i := range indices {
		if i < 0 {
			return fmt.Errorf("Indices in TensorListScatter must all be non-negative.")
		}
		if num >= 0 && i >= num {
			return fmt.Errorf("TensorListScatter: Trying to scatter at index %d in list with size %d", i, num)
		}
		n = max(n, i+1)
	}
	l, err := newList(c, c.t(0).DType, shape, n)
	if err != nil {
		return err
	}
	for k, i := range indices {
		v := Value{T: rows[k]}
		if err := l.fits(v); err != nil {
			return err
		}
		l.bytes += weight(v) - weight(l.all[i])
		l.all[i] = v
	}
	c.setList(0, l)
	return nil
}

// listConcat joins elements along their first axis, and returns their sizes there.
func listConcat(s *site) (kernel, error) {
	return func(c call) error {
		l, err := c.list()
		if err != nil {
			return err
		}
		shape := l.shape
		if len(c.in) == 3 {
			asked, err := partial(c.t(1))
			if err != nil {
				return err
			}
			if shape, err = merged(shape, asked); err != nil {
				return err
			}
		}
		return c.joined(l.dtype, shape, l.elements())
	}, nil
}

// listSplit makes a list of parts of given sizes along the first axis.
func listSplit(c call) error {
	t, all := c.t(0), c.t(2)
	shape, err := partial(c.t(1))
	if err != nil {
		return err
	}
	lengths, err := c.vector("lengths", all)
	if err != nil {
		return err
	}
	if len(t.Shape) == 0 {
		return fmt.Errorf("Tensor must be at least a vector, but saw shape: []")
	}
	total := 0
	for _, n := range lengths {
		if n < 0 || n > t.Shape[0]-total {
			return fmt.Errorf("lengths %v: expected a sum of %d and no negative one", lengths, t.Shape[0])
		}
		total += n
	}
	if total != t.Shape[0] {
		return fmt.Errorf("Unused values in tensor. Length of tensor: %d Values used: %d", t.Shape[0], total)
	}
	l, err := newList(c, t.DType, shape, len(lengths))
	if err != nil {
		return err
	}
	each, at := product(t.Shape[1:]), 0
	for i, n := range lengths {
		part := &tensor.Tensor{DType: t.DType, Shape: slices.Concat([]int{n}, t.Shape[1:])}
		if from, to := at*each, (at+n)*each; t.DType == tensor.String {
			part.Strings = t.Strings[from:to:to]
		} else {
			size := t.DType.Size()
			part.Bytes = t.Bytes[from*size : to*size : to*size]
		}
		if err := l.fits(Value{T: part}); err != nil {
			return err
		}
		at += n
		l.all[i] = Value{T: part}
		l.bytes += sizeOf(part)
	}
	c.setList(0, l)
	return nil
}

// listScatterInto sets elements of a list, which grows if necessary.
func listScatterInto(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	indices, err := c.integers("indices", c.t(2))
	if err != nil {
		return err
	}
	rows, err := c.unstacked(c.t(1))
	if err != nil {
		return err
	}
	if len(rows) != len(indices) {
		return fmt.Errorf("expected an index for each of %d rows, got %d", len(rows), len(indices))
	}
	n := l.n
	for _, i := range indices {
		if i < 0 {
			return fmt.Errorf("Indices in TensorListScatter must all be non-negative.")
		}
		n = max(n, i+1)
	}
	w, err := l.resized(c, n)
	if err != nil {
		return err
	}
	for k, i := range indices {
		v := Value{T: rows[k]}
		if err := w.fits(v); err != nil {
			return err
		}
		w.bytes += weight(v) - weight(w.all[i])
		w.all[i] = v
	}
	c.setList(0, w)
	return w.holds(c, Value{})
}

// joined sets the outputs to the elements joined along their first axis, and their sizes there.
func (c call) joined(dtype tensor.DType, shape []int, all []Value) error {
	var rest []int
	var err error
	lengths, total, cells := []int{}, 0, 0
	for i, v := range all {
		t := v.T
		if t == nil || len(t.Shape) == 0 {
			return fmt.Errorf("Concat saw an element %d without a first dimension or value", i)
		}
		if rest, err = merged(rest, sizes(t)[1:]); err != nil {
			return err
		}
		lengths, total = append(lengths, t.Shape[0]), total+t.Shape[0]
	}
	if rest == nil && len(shape) > 0 {
		rest = shape[1:]
	}
	if !defined(rest) {
		return fmt.Errorf("All except the first dimension must be fully defined when concating an empty tensor list, got %v", shape)
	}
	out, err := c.output(0, dtype, slices.Concat([]int{total}, rest)...)
	if err != nil {
		return err
	}
	for _, v := range all {
		copyCells(out, cells, v.T, 0, v.T.Len())
		cells += v.T.Len()
	}
	return c.outputInts(1, tensor.Int64, lengths, len(lengths))
}
