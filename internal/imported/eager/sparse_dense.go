package eager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

func sparseDenseMatMul(s *site) (kernel, error) {
	a, b := s.boolean("adjoint_a", false), s.boolean("adjoint_b", false)
	f32, f64 := sparseProduct[float32](a, b), sparseProduct[float64](a, b)
	return numbers(f32, f64, nil, nil, sparseProduct[int32](a, b), sparseProduct[int64](a, b), nil, nil, nil, nil).on(1), nil
}

// sparseAndDense returns a sparse operand from inputs 0 to 2, with its values, and the dense input 3. The caller checks the coordinates.
func (c call) sparseAndDense() (s coords, values, dense *tensor.Tensor, err error) {
	indices := c.t(0)
	if indices.DType == tensor.Int32 {
		if indices, err = recastTo(c, indices, tensor.Int64); err != nil {
			return s, nil, nil, err
		}
	}
	s, err = coordsOf(indices, c.t(1), c.t(2))
	return s, c.t(1), c.t(3), err
}

// sparseProduct multiplies a sparse matrix by a dense one. Each may be transposed first.
func sparseProduct[T number](adjointA, adjointB bool) kernel {
	return func(c call) error {
		s, values, b, err := c.sparseAndDense()
		if err != nil {
			return err
		}
		if s.rank() != 2 || len(b.Shape) != 2 || b.DType != values.DType {
			return fmt.Errorf("cannot multiply a by b: shapes %v and %v, types %v and %v", s.shape, b.Shape, values.DType, b.DType)
		}
		left, right := 0, 0 // the dimensions of the result
		if adjointA {
			left = 1
		}
		if !adjointB {
			right = 1
		}
		if s.shape[1-left] != b.Shape[1-right] {
			return fmt.Errorf("Cannot multiply A and B because inner dimension does not match: %d vs. %d.  Did you forget a transpose?  Dimensions of A: [%d, %d).  Dimensions of B: %s",
				s.shape[1-left], b.Shape[1-right], s.shape[0], s.shape[1], shapeText(b.Shape))
		}
		if err := s.check(); err != nil {
			return err
		}
		n := b.Shape[right]
		dst, err := outputOf[T](c, 0, s.shape[left], n)
		if err != nil {
			return err
		}
		src := tensor.Values[T](b)
		for i, v := range tensor.Values[T](values) {
			row, k := dst[int(s.row(i)[left])*n:][:n], int(s.row(i)[1-left])
			for j := range row {
				if adjointB {
					row[j] += v * src[j*b.Shape[1]+k]
				} else {
					row[j] += v * src[k*n+j]
				}
			}
		}
		return nil
	}
}

// sparseCwise combines a sparse tensor's values with the elements of a dense
// tensor at their indices, broadcast to the sparse tensor's shape.
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

// dividing divides by a tensor without zeros.
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
