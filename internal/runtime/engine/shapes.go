package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
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

// sameAs is same for inputs with elements T and an output with elements R.
func sameAs[T, R tensor.Element](c *binding, n int) ([]*value, *value, error) {
	in, out, err := c.same(n)
	if err == nil {
		err = errors.Join(checkTypes[T](in...), checkTypes[R](out))
	}
	return in, out, err
}

// checkTypes fails unless all values hold elements T.
func checkTypes[T tensor.Element](vs ...*value) error {
	for _, v := range vs {
		if v.typ.DType != tensor.TypeOf[T]() {
			return fmt.Errorf("expected elements of type %v, got %v", tensor.TypeOf[T](), v.typ.DType)
		}
	}
	return nil
}

// checkShape fails unless v's shape is the concatenation of parts.
func checkShape(what string, v *value, parts ...[]graph.Dim) error {
	if want := (graph.Shape{Dims: slices.Concat(parts...)}); !want.Equal(v.typ.Shape) {
		return fmt.Errorf("%s: expected shape %v, got %v", what, want, v.typ.Shape)
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
