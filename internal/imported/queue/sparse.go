package queue

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// checkSparse fails for a sparse gradient that cannot be added. The texts are TensorFlow's.
func (a *Accumulator) checkSparse(g Gradient) error {
	v, want := g.Values.Shape, a.spec.Shape
	if len(v) == 0 {
		return fmt.Errorf("Values cannot be 0-dimensional.")
	}
	if v[0] != len(g.Indices) {
		return fmt.Errorf("Expected %d non-empty input values, got %d", len(g.Indices), v[0])
	}
	if err := a.checkShape(g.Shape); err != nil {
		return err
	}
	for i, at := range g.Indices {
		if at < 0 || len(want) > 0 && want[0] >= 0 && at >= int64(want[0]) {
			limit := -1
			if len(want) > 0 {
				limit = want[0]
			}
			return fmt.Errorf("Shape mismatch: index of slice %d exceeded limits of shape; index is %d exceeded %d", i, at, limit)
		}
	}
	if a.count > 0 {
		want = a.sum.Values.Shape
		if len(want) != len(v) {
			return fmt.Errorf("Shape mismatch: expected values rank %d, got %d", len(want), len(v))
		}
	} else if len(want) > len(v) {
		return fmt.Errorf("Shape mismatch: expected values rank at least %d, got %d", len(want), len(v))
	}
	for i := 1; i < len(want); i++ {
		if want[i] >= 0 && want[i] != v[i] {
			return fmt.Errorf("Shape mismatch: expected values dim %d to be %d, got %d", i, want[i], v[i])
		}
	}
	return nil
}

// checkShape fails if a gradient states the shape of another variable; nil states none.
func (a *Accumulator) checkShape(shape []int64) error {
	if shape == nil {
		return nil
	}
	if len(a.spec.Shape) > len(shape) {
		return fmt.Errorf("Shape mismatch: expected shape rank at least %d, got %d", len(a.spec.Shape), len(shape))
	}
	for i, want := range a.spec.Shape {
		if want >= 0 && int64(want) != shape[i] {
			return fmt.Errorf("Shape mismatch: expected shape dim %d to be %d, got %d", i, want, shape[i])
		}
	}
	return nil
}

// merge adds rows to the sum. Both are sorted by index; rows with equal indices are added.
func (a *Accumulator) merge(g Gradient) {
	sum := a.sum
	width := g.Values.Len() / max(len(g.Indices), 1)
	if len(g.Indices) == 0 {
		width = sum.Values.Len() / max(len(sum.Indices), 1)
	}
	type row struct{ of, added int } // -1 for none
	var rows []row
	for i, j := 0, 0; i < len(sum.Indices) || j < len(g.Indices); {
		switch {
		case j == len(g.Indices) || i < len(sum.Indices) && sum.Indices[i] < g.Indices[j]:
			rows = append(rows, row{i, -1})
			i++
		case i == len(sum.Indices) || g.Indices[j] < sum.Indices[i]:
			rows = append(rows, row{-1, j})
			j++
		default:
			rows = append(rows, row{i, j})
			i++
			j++
		}
	}
	shape := append([]int{len(rows)}, g.Values.Shape[1:]...)
	out := Gradient{Values: tensor.New(g.Values.DType, shape...), Sparse: true, Indices: make([]int64, len(rows))}
	times := make([]int, len(rows))
	for k, r := range rows {
		if r.of >= 0 {
			out.Indices[k], times[k] = sum.Indices[r.of], a.times[r.of]
			addTo(out.Values, k*width, sum.Values, r.of*width, width)
		}
		if r.added >= 0 {
			out.Indices[k] = g.Indices[r.added]
			times[k]++
			addTo(out.Values, k*width, g.Values, r.added*width, width)
		}
	}
	a.sum, a.times = out, times
}
