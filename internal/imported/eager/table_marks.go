package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// markNames are the keys by which TensorFlow's dense tables mark free rows. Our tables have no free rows: they only refuse these keys, and
// skip them in a checkpoint, which includes TensorFlow's free rows.
var markNames = [...]string{"empty_key", "deleted_key"}

// marksOf returns the marks of a dense table, which are inputs of its op; nil for other tables.
func (t *Table) marksOf(c call) ([]*tensor.Tensor, error) {
	if len(c.in) == 0 {
		return nil, nil
	}
	var marks []*tensor.Tensor
	for i, name := range markNames {
		m := c.t(i)
		if m.DType != t.key || m.Len() != 1 {
			return nil, fmt.Errorf("%s: expected one key of type %v, got %v of shape %v", name, t.key, m.DType, m.Shape)
		}
		marks = append(marks, m)
	}
	if sameCells(marks[0], 0, marks[1], 0, 1) {
		return nil, fmt.Errorf("The empty and deleted keys cannot be equal")
	}
	return marks, nil
}

// mark returns which mark key i is, or -1.
func (t *Table) mark(keys *tensor.Tensor, i int) int {
	for k, m := range t.marks {
		if sameCells(m, 0, keys, i, 1) {
			return k
		}
	}
	return -1
}

// listed returns a checkpoint's keys as a vector: TensorFlow writes a dense table's keys as a one-column matrix.
func (t *Table) listed(keys *tensor.Tensor) *tensor.Tensor {
	if t.marks == nil || len(keys.Shape) != 2 || keys.Shape[1] != 1 {
		return keys
	}
	return reshaped(keys, keys.Shape[0])
}

// refuseMarks fails if a key is a mark.
func (t *Table) refuseMarks(keys *tensor.Tensor) error {
	if t.marks == nil || keys.DType != t.key {
		return nil // another check refuses the type
	}
	for i := range keys.Len() {
		if k := t.mark(keys, i); k >= 0 {
			return fmt.Errorf("Using the %s as a table key is not allowed", markNames[k])
		}
	}
	return nil
}

// withoutMarks returns the entries whose keys are not marks.
func (t *Table) withoutMarks(keys, values *tensor.Tensor) (k, v *tensor.Tensor, err error) {
	if t.marks == nil || keys.DType != t.key {
		return keys, values, nil
	}
	if len(t.shape) == 0 { // TensorFlow also writes scalars as a one-column matrix
		values = t.listed(values)
	}
	if err := t.check(keys, values); err != nil {
		return nil, nil, err
	}
	width, n := product(t.shape), 0
	k, v = tensor.New(keys.DType, keys.Len()), tensor.New(values.DType, append([]int{keys.Len()}, t.shape...)...)
	for i := range keys.Len() {
		if t.mark(keys, i) >= 0 {
			continue
		}
		copyCells(k, n, keys, i, 1)
		copyCells(v, n*width, values, i*width, width)
		n++
	}
	return rowsOf(k, n, 1, nil), rowsOf(v, n, width, t.shape), nil
}
