package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/graph"
)

// same returns the first n inputs and output 0 after checking that all have one shape, and the inputs one type.
func (c *binding) same(n int) ([]*value, *value, error) {
	if err := c.need(n, 1); err != nil {
		return nil, nil, err
	}
	for i, v := range c.in[:n] {
		if !v.typ.Shape.Equal(c.out[0].typ.Shape) || v.typ.DType != c.in[0].typ.DType {
			return nil, nil, fmt.Errorf("input %d: expected %v %v, got %v %v", i, c.in[0].typ.DType, c.out[0].typ.Shape, v.typ.DType, v.typ.Shape)
		}
	}
	return c.in[:n], c.out[0], nil
}

// checkElement fails unless v's elements are R.
func checkElement[R graph.Element](v *value) error {
	if v.typ.DType != graph.TypeOf[R]() {
		return fmt.Errorf("expected a result of type %v, got %v", graph.TypeOf[R](), v.typ.DType)
	}
	return nil
}

// checkRank fails unless v has the rank.
func checkRank(what string, v *value, rank int) error {
	if got := v.typ.Shape.Rank(); got != rank {
		return fmt.Errorf("%s: expected rank %d, got shape %v", what, rank, v.typ.Shape)
	}
	return nil
}

// checkSame fails unless a and b have one element type.
func checkSame(a, b *value) error {
	if a.typ.DType != b.typ.DType {
		return fmt.Errorf("expected one element type, got %v and %v", a.typ.DType, b.typ.DType)
	}
	return nil
}

// rowsCols returns v's sizes as a matrix of its last dimension.
func rowsCols(v *value) (rows, cols int) {
	cols = 1
	if n := len(v.dims); n > 0 {
		cols = v.dims[n-1]
	}
	if cols == 0 {
		return 0, 0
	}
	return v.n / cols, cols
}
