package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// indices are an int32 or int64 value read as ints.
type indices struct{ v *value }

// at returns index i.
func (x indices) at(i int) int {
	if x.v.typ.DType == tensor.Int32 {
		return int(view[int32](x.v)[i])
	}
	return int(view[int64](x.v)[i])
}

// integers returns input i as indices.
func (c *binding) integers(i int) (indices, error) {
	if err := c.need(i+1, 0); err != nil {
		return indices{}, err
	}
	if d := c.in[i].typ.DType; d != tensor.Int32 && d != tensor.Int64 {
		return indices{}, fmt.Errorf("input %d: expected int32 or int64, got %v", i, d)
	}
	return indices{c.in[i]}, nil
}

// IndexError reports that an index is outside of the dimension that it selects from.
type IndexError struct {
	Index, Position, Size int
}

// Error implements error.
func (e *IndexError) Error() string {
	return fmt.Sprintf("index %d at position %d: expected 0 <= index < %d", e.Index, e.Position, e.Size)
}

// check fails if an index is not in [0, size).
func (x indices) check(size int) error {
	for i := range x.v.n {
		if k := x.at(i); k < 0 || k >= size {
			return &IndexError{k, i, size}
		}
	}
	return nil
}

// below fails if an index is not less than size. Negative indices pass: they stand for no row.
func (x indices) below(size int) error {
	if x.v.typ.DType == tensor.Int32 {
		return firstBelow(view[int32](x.v), size)
	}
	return firstBelow(view[int64](x.v), size)
}

func firstBelow[I int32 | int64](ids []I, size int) error {
	for i, id := range ids {
		if int(id) >= size {
			return &IndexError{int(id), i, size}
		}
	}
	return nil
}

// clearNegative sets the rows of v with negative indices to zeros.
func (x indices) clearNegative(v *value) {
	n := elementsAfter(v, 0) * v.elem
	if x.v.typ.DType == tensor.Int32 {
		clearRows(v.bytes(), view[int32](x.v), n)
	} else {
		clearRows(v.bytes(), view[int64](x.v), n)
	}
}

func clearRows[I int32 | int64](rows []byte, ids []I, n int) {
	for r, id := range ids {
		if id < 0 {
			clear(rows[r*n : (r+1)*n])
		}
	}
}

// rowUpdate are rows of values for rows of a variable. Negative indices pad a gradient; their rows are left out.
type rowUpdate struct {
	ids    indices
	values *value
	size   int // rows of the variable
}

// rowUpdate checks the indices and rows of an op that updates v by rows.
func (c *binding) rowUpdate(v *variable, ids, values int) (*rowUpdate, error) {
	if err := c.need(max(ids, values)+1, 0); err != nil {
		return nil, err
	}
	x, err := c.integers(ids)
	if err != nil {
		return nil, err
	}
	g := c.in[values]
	if len(v.shape) == 0 || g.typ.DType != v.dtype {
		return nil, fmt.Errorf("expected rows of type %v for a variable of shape %v, got %v", v.dtype, v.shape, g.typ.DType)
	}
	row := graph.ShapeOf(v.shape[1:]...)
	want := graph.Shape{Dims: append(append([]graph.Dim(nil), x.v.typ.Shape.Dims...), row.Dims...)}
	if !want.Equal(g.typ.Shape) {
		return nil, fmt.Errorf("input %d: expected shape %v, got %v", values, want, g.typ.Shape)
	}
	return &rowUpdate{x, g, v.shape[0]}, nil
}

// each calls f(row of the variable, row of the values, length of a row) in order, after checking all indices.
func (u *rowUpdate) each(f func(at, row, n int)) error {
	if err := u.ids.below(u.size); err != nil {
		return err
	}
	count := u.ids.v.n
	if count == 0 {
		return nil
	}
	n := u.values.n / count
	for r := range count {
		if at := u.ids.at(r); at >= 0 {
			f(at, r, n)
		}
	}
	return nil
}
