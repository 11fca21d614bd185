package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// slicing reads a node like StridedSlice: its masks are attributes; begin, end and strides are the inputs from `first` on.
type slicing struct {
	masks sliceMasks
	first int
}

func readSlicing(s *site, first int) (slicing, error) {
	m := sliceMasks{s.node.Int("begin_mask", 0), s.node.Int("end_mask", 0), s.node.Int("ellipsis_mask", 0),
		s.node.Int("new_axis_mask", 0), s.node.Int("shrink_axis_mask", 0)}
	if m.ellipsis&(m.ellipsis-1) != 0 {
		return slicing{}, fmt.Errorf("multiple ellipses in slice spec not allowed")
	}
	return slicing{m, first}, nil
}

// box returns the slice of a tensor of the given shape: see sliceBox.
func (s slicing) box(c call, shape []int) (fine, final []int, from stride, err error) {
	var spec [3][]int
	for i := range spec {
		if spec[i], err = c.vector([]string{"begin", "end", "strides"}[i], c.t(s.first+i)); err != nil {
			return nil, nil, from, err
		}
	}
	if len(spec[0]) != len(spec[1]) || len(spec[0]) != len(spec[2]) {
		return nil, nil, from, fmt.Errorf("expected begin, end and strides of one length, got %d, %d and %d", len(spec[0]), len(spec[1]), len(spec[2]))
	}
	if len(spec[0]) > 32 {
		return nil, nil, from, fmt.Errorf("expected at most 32 entries, got %d", len(spec[0]))
	}
	return sliceBox(shape, spec, s.masks)
}

// stridedSliceGrad is zero outside of the slice.
func stridedSliceGrad(s *site) (kernel, error) {
	slice, err := readSlicing(s, 1)
	return func(c call) error {
		shape, err := c.vector("shape", c.t(0))
		if err != nil {
			return err
		}
		if _, err := elements(shape); err != nil {
			return err
		}
		fine, final, to, err := slice.box(c, shape)
		if err != nil {
			return err
		}
		if err := fits("dy", c.t(4), final); err != nil {
			return err
		}
		dx, err := c.output(0, c.t(4).DType, shape...)
		if err == nil {
			putBox(fine, dx, to, c.t(4))
		}
		return err
	}, err
}

// stridedSliceAssign replaces a slice of a variable.
func stridedSliceAssign(s *site) (kernel, error) {
	slice, err := readSlicing(s, 1)
	ref := s.node.Op == ops.StridedSliceAssign.Name
	return func(c call) error {
		if ref {
			c.forward()
		}
		return c.edit(c.in[:1], func(values []*tensor.Tensor) error {
			v, by := values[0], c.t(4)
			fine, final, to, err := slice.box(c, v.Shape)
			if err != nil {
				return err
			}
			if err := want("value", by, v.DType); err != nil {
				return err
			}
			if product(final) == 0 {
				return nil // TensorFlow does not check the value's shape
			}
			if len(by.Shape) == 0 && product(final) == 1 {
				final = nil
			}
			if !slices.Equal(by.Shape, final) {
				return fmt.Errorf("%w: expected a value of shape %v, got %v", errShapes, final, by.Shape)
			}
			putBox(fine, v, to, by)
			return nil
		})
	}, err
}

// tensorSliceUpdate returns a copy of a tensor with another value for a slice.
func tensorSliceUpdate(s *site) (kernel, error) {
	slice, err := readSlicing(s, 1)
	return func(c call) error {
		x, by := c.t(0), c.t(4)
		fine, final, to, err := slice.box(c, x.Shape)
		if err != nil {
			return err
		}
		if err := want("value", by, x.DType); err != nil {
			return err
		}
		y, err := c.output(0, x.DType, x.Shape...)
		if err != nil {
			return err
		}
		copyCells(y, 0, x, 0, x.Len())
		if product(final) == 0 {
			return nil
		}
		if len(by.Shape) == 0 && product(final) == 1 {
			final = nil
		}
		if !slices.Equal(by.Shape, final) {
			return fmt.Errorf("%w: expected a value of shape %v, got %v", errShapes, final, by.Shape)
		}
		putBox(fine, y, to, by)
		return nil
	}, err
}

// putBox copies src, which is contiguous, to a box of dst. Its steps may be negative.
func putBox(shape []int, dst *tensor.Tensor, to stride, src *tensor.Tensor) {
	i := 0
	var put func(k, at int)
	put = func(k, at int) {
		if k == len(shape) {
			copyCells(dst, at, src, i, 1)
			i++
			return
		}
		if k == len(shape)-1 && to.steps[k] == 1 {
			copyCells(dst, at, src, i, shape[k])
			i += shape[k]
			return
		}
		for j := range shape[k] {
			put(k+1, at+j*to.steps[k])
		}
	}
	if product(shape) > 0 {
		put(0, to.base)
	}
}

// concatOffset returns the position of each shape in their concatenation.
func concatOffset(s *site) (kernel, error) {
	n := s.count("N", 0, 1<<16)
	if s.outputs = n; n < 2 {
		return nil, fmt.Errorf("attribute N: expected at least 2, got %d", n)
	}
	return func(c call) error {
		if len(c.in) != n+1 {
			return fmt.Errorf("expected %d shapes, got %d inputs", n, len(c.in))
		}
		first, err := c.vector("shape", c.t(1))
		if err != nil {
			return err
		}
		k, err := integer("concat_dim", c.t(0))
		if err != nil {
			return err
		}
		if k, err = axis("concat_dim", k, len(first)); err != nil {
			return err
		}
		at := make([]int, len(first))
		for i := range n {
			shape, err := c.vector("shape", c.t(i+1))
			if err != nil {
				return err
			}
			if len(shape) != len(first) {
				return fmt.Errorf("input %d should contain %d elements, but got %d", i, len(first), len(shape))
			}
			for j := range shape {
				if j != k && shape[j] != first[j] {
					return fmt.Errorf("All dimensions except %d must match. Input %d has shape %v and doesn't match input 0 with shape %v.", k, i, shape, first)
				}
			}
			if err := c.outputInts(i, c.t(i+1).DType, at, len(at)); err != nil {
				return err
			}
			at[k] += shape[k]
		}
		return nil
	}, nil
}
