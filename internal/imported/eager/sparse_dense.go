package eager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

func sparseDenseMatMul(s *site) (kernel, error) {
	if s.boolean("adjoint_a", false) || s.boolean("adjoint_b", false) {
		return nil, fmt.Errorf("adjoints %w", ErrUnsupported)
	}
	return numbers(sparseProduct[float32], sparseProduct[float64], nil, nil, sparseProduct[int32], sparseProduct[int64], nil, nil, nil, nil).on(1), nil
}

func sparseProduct[T number](c call) error {
	values, b := c.t(1), c.t(3)
	s, err := coordsOf(c.t(0), values, c.t(2))
	if err != nil {
		return err
	}
	if s.rank() != 2 || len(b.Shape) != 2 || b.Shape[0] != s.shape[1] || b.DType != values.DType {
		return fmt.Errorf("cannot multiply a by b: shapes %v and %v, types %v and %v", s.shape, b.Shape, values.DType, b.DType)
	}
	if err := s.check(); err != nil {
		return err
	}
	n := b.Shape[1]
	dst, err := outputOf[T](c, 0, s.shape[0], n)
	if err != nil {
		return err
	}
	right := tensor.Values[T](b)
	for i, v := range tensor.Values[T](values) {
		row, src := dst[int(s.row(i)[0])*n:], right[int(s.row(i)[1])*n:]
		for j := range n {
			row[j] += v * src[j]
		}
	}
	return nil
}

// sparseCwise combines a sparse tensor's values with the elements of a dense one
// at their indices, broadcast to the sparse one's shape.
func sparseCwise(k kernel) kernel {
	return func(c call) error {
		s, err := coordsOf(c.t(0), c.t(1), c.t(2))
		if err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
		d := c.t(3)
		if shape, err := broadcastShape(d.Shape, s.shape); err != nil || !slices.Equal(shape, s.shape) {
			return errors.New("the dense side must broadcast to the sparse side")
		}
		from := spread(d.Shape, s.shape)
		right, err := c.alloc(d.DType, s.n)
		if err != nil {
			return err
		}
		for i := range s.n {
			place := 0
			for j, v := range s.row(i) {
				place += int(v) * from.steps[j]
			}
			copyCells(right, i, d, place, 1)
		}
		c.in = []Value{c.in[1], {T: right}}
		return k(c)
	}
}

// dividing is division by a tensor without zeros.
func dividing(c call) error {
	yes, err := truth(c.t(1))
	if err != nil {
		return err
	}
	if slices.Contains(yes, false) {
		return errors.New("cannot divide by zero, but the dense input contains one")
	}
	return quotient(c)
}

var quotient = arithmetic(ops.Div)
