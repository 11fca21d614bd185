package dataset

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// PaddedBatch is Batch for elements whose components are padded to shapes: -1 stands for the largest size in the batch. padding has
// one scalar for each component.
func PaddedBatch(in Dataset, size int64, whole bool, shapes [][]int, padding Element) (Dataset, error) {
	if len(shapes) != len(padding) {
		return nil, fmt.Errorf("expected a shape and a padding for each component, got %d and %d", len(shapes), len(padding))
	}
	for i, v := range padding {
		if v.T == nil || len(v.T.Shape) != 0 {
			return nil, fmt.Errorf("padding_values must all be scalars, component %d is none", i)
		}
	}
	return batches(in, size, whole, func(p *Pass, rows []Element) (Element, error) {
		return stackPadded(p, rows, shapes, padding)
	})
}

func stackPadded(p *Pass, rows []Element, shapes [][]int, padding Element) (Element, error) {
	if len(rows[0]) != len(shapes) {
		return nil, fmt.Errorf("elements have %d components, expected %d, which have shapes", len(rows[0]), len(shapes))
	}
	out := make(Element, len(shapes))
	for k, want := range shapes {
		shape, err := paddedShape(rows, k, want, padding[k].T.DType)
		if err != nil {
			return nil, err
		}
		whole := slices.Concat([]int{len(rows)}, shape)
		all, err := p.tensor(padding[k].T.DType, whole)
		if err != nil {
			return nil, err
		}
		fill(all, padding[k].T)
		for i, r := range rows {
			putBox(all, i*tensor.NumElements(shape), shape, r[k].T)
		}
		out[k].T = all
	}
	return out, nil
}

// paddedShape returns the shape that component k of the rows is padded to.
func paddedShape(rows []Element, k int, want []int, d tensor.DType) ([]int, error) {
	shape := slices.Clone(want)
	for _, r := range rows {
		t := r.component(k)
		if t == nil || t.DType != d {
			return nil, fmt.Errorf("component %d: expected tensors of type %v, which the padding has", k, d)
		}
		if len(t.Shape) != len(want) {
			return nil, fmt.Errorf("All elements in a batch must have the same rank as the padded shape for component%d: expected rank %d got element with rank %d", k, len(want), len(t.Shape))
		}
		for i, n := range t.Shape {
			if want[i] < 0 {
				shape[i] = max(shape[i], n)
			} else if n > want[i] {
				return nil, fmt.Errorf("%w: Attempted to pad to a smaller size than the input element.", ErrDataLoss)
			}
		}
	}
	return shape, nil
}

// fill sets all elements to a scalar.
func fill(dst, value *tensor.Tensor) {
	n := dst.Len()
	if n == 0 {
		return
	}
	put(dst, 0, value, 0, 1)
	for done := 1; done < n; done *= 2 {
		put(dst, done, dst, 0, min(done, n-done))
	}
}

// putBox copies src to the corner of a box in dst, which begins at element j.
func putBox(dst *tensor.Tensor, j int, box []int, src *tensor.Tensor) {
	if src.Len() == 0 {
		return
	}
	inner := len(box) // from this dimension on, src fills the box: one run of elements
	for inner > 0 && box[inner-1] == src.Shape[inner-1] {
		inner--
	}
	first := max(inner-1, 0)
	run, width := tensor.NumElements(src.Shape[first:]), tensor.NumElements(box[first:])
	index := make([]int, first)
	for i := 0; i < src.Len(); i += run {
		at := 0
		for k, v := range index {
			at = at*box[k] + v
		}
		put(dst, j+at*width, src, i, run)
		for k := first - 1; k >= 0; k-- {
			if index[k]++; index[k] < src.Shape[k] {
				break
			}
			index[k] = 0
		}
	}
}
