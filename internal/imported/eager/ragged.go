package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// raggedOps work on values and row splits.
var raggedOps = map[*ops.Def]maker{
	ops.RaggedTensorToTensor:          raggedToTensor,
	ops.RaggedTensorToSparse:          raggedToSparse,
	ops.RaggedRange:                   raggedRange,
	ops.RaggedGather:                  raggedGather,
	ops.RaggedTensorToVariant:         raggedToVariant,
	ops.RaggedTensorFromVariant:       raggedFromVariant,
	ops.RaggedTensorToVariantGradient: raggedToVariantGradient,
}

// splitsOf checks row splits: they must rise from 0 to n.
func splitsOf(c call, what string, t *tensor.Tensor, n int) ([]int, error) {
	s, err := c.integers(what, t)
	if err != nil {
		return nil, err
	}
	if len(t.Shape) != 1 || len(s) == 0 || s[0] != 0 || s[len(s)-1] != n || !slices.IsSorted(s) {
		return nil, fmt.Errorf("%s: expected row splits that rise from 0 to %d", what, n)
	}
	return s, nil
}

func raggedToTensor(s *site) (kernel, error) {
	types := list[[]byte](s, "row_partition_types")
	first := len(types) > 0 && string(types[0]) == "FIRST_DIM_SIZE"
	for i, t := range types {
		switch {
		case string(t) == "FIRST_DIM_SIZE" && i == 0:
		case string(t) == "ROW_SPLITS" && !first, string(t) == "VALUE_ROWIDS" && first && i > 0:
		default:
			return nil, fmt.Errorf("row_partition_types %q %w", types, ErrUnsupported)
		}
	}
	return func(c call) error {
		if len(c.in) != 3+len(types) || len(types) == 0 {
			return fmt.Errorf("expected %d inputs, got %d", 3+len(types), len(c.in))
		}
		rows, levels, err := raggedLevels(c, first)
		if err != nil {
			return err
		}
		return padRagged(c, rows, levels)
	}, nil
}

// raggedLevels returns the number of outermost rows, and the row splits of each ragged dimension.
func raggedLevels(c call, first bool) (int, [][]int, error) {
	parts := c.in[3:]
	if len(c.t(1).Shape) == 0 {
		return 0, nil, fmt.Errorf("values: expected at least a vector")
	}
	n := c.t(1).Shape[0]
	if !first {
		levels := make([][]int, len(parts))
		for i := len(parts) - 1; i >= 0; i-- {
			s, err := splitsOf(c, "row_splits", parts[i].T, n)
			if err != nil {
				return 0, nil, err
			}
			levels[i], n = s, len(s)-1
		}
		return n, levels, nil
	}
	rows, err := integer("first dimension", parts[0].T)
	if err != nil {
		return 0, nil, err
	}
	if rows < 0 {
		return 0, nil, fmt.Errorf("first dimension: expected no negative number, got %d", rows)
	}
	var levels [][]int
	above := rows
	for _, p := range parts[1:] {
		if err := c.room(above, 8); err != nil {
			return 0, nil, err
		}
		ids, err := c.integers("value_rowids", p.T)
		if err != nil {
			return 0, nil, err
		}
		splits := make([]int, above+1)
		for i, v := range ids {
			if v < 0 || v >= above || i > 0 && v < ids[i-1] {
				return 0, nil, fmt.Errorf("value_rowids[%d] = %d: expected rows in order, below %d", i, v, above)
			}
			splits[v+1]++
		}
		for i := range above {
			splits[i+1] += splits[i]
		}
		levels, above = append(levels, splits), len(ids)
	}
	if above != n {
		return 0, nil, fmt.Errorf("expected %d values, got %d", above, n)
	}
	return rows, levels, nil
}

// padRagged sets output 0 to the values in a box, padded with the default and cut to the requested shape.
func padRagged(c call, rows int, levels [][]int) error {
	values, def := c.t(1), c.t(2)
	if def.DType != values.DType {
		return fmt.Errorf("default_value: expected type %v, got %v", values.DType, def.DType)
	}
	inner := values.Shape[1:]
	shape := []int{rows}
	for _, s := range levels {
		most := 0
		for i := 1; i < len(s); i++ {
			most = max(most, s[i]-s[i-1])
		}
		shape = append(shape, most)
	}
	shape = append(shape, inner...)
	asked, err := c.integers("shape", c.t(0))
	if err != nil {
		return err
	}
	if len(c.t(0).Shape) == 1 {
		if len(asked) != len(shape) {
			return fmt.Errorf("shape: expected %d sizes, got %v", len(shape), asked)
		}
		for i, d := range asked {
			if d >= 0 {
				shape[i] = d
			}
		}
	} else if len(asked) != 1 || asked[0] != -1 {
		return fmt.Errorf("shape: expected a vector or -1")
	}
	if got := shape[len(levels)+1:]; !slices.Equal(got, inner) {
		return fmt.Errorf("shape %v does not fit values of shape %v", asked, values.Shape)
	}
	out, err := c.output(0, values.DType, shape...)
	if err != nil || out.Len() == 0 {
		return err
	}
	size := product(inner)
	if got, err := broadcastShape(def.Shape, shape); err != nil || !slices.Equal(got, shape) {
		return fmt.Errorf("default_value of shape %v does not broadcast to %v", def.Shape, shape)
	}
	if err := copyBox(shape, out, contiguous(shape), def, spread(def.Shape, shape)); err != nil {
		return err
	}
	steps := contiguous(shape).steps
	var put func(level, row, at int)
	put = func(level, row, at int) {
		if level == len(levels) {
			copyCells(out, at, values, row*size, size)
			return
		}
		s := levels[level]
		for j := 0; j < min(s[row+1]-s[row], shape[level+1]); j++ {
			put(level+1, s[row]+j, at+j*steps[level+1])
		}
	}
	for i := range min(rows, shape[0]) {
		put(0, i, i*steps[0])
	}
	return nil
}

func raggedToSparse(s *site) (kernel, error) {
	n := s.count("RAGGED_RANK", len(s.node.Inputs)-1, maxRank)
	return func(c call) error {
		if n < 1 || len(c.in) != n+1 {
			return fmt.Errorf("expected %d inputs, got %d", n+1, len(c.in))
		}
		values := c.t(n)
		if len(values.Shape) == 0 {
			return fmt.Errorf("values: expected at least a vector")
		}
		levels, count := make([][]int, n), values.Shape[0]
		for i := n - 1; i >= 0; i-- {
			sp, err := splitsOf(c, "row_splits", c.t(i), count)
			if err != nil {
				return err
			}
			levels[i], count = sp, len(sp)-1
		}
		inner := values.Shape[1:]
		shape := []int{count}
		for _, sp := range levels {
			most := 0
			for i := 1; i < len(sp); i++ {
				most = max(most, sp[i]-sp[i-1])
			}
			shape = append(shape, most)
		}
		shape = append(shape, inner...)
		dst, err := outputOf[int64](c, 0, values.Len(), len(shape))
		if err != nil {
			return err
		}
		at := make([]int64, len(shape))
		size := product(inner)
		var put func(level, row int)
		put = func(level, row int) {
			if level < n {
				for j := levels[level][row]; j < levels[level][row+1]; j++ {
					at[level+1] = int64(j - levels[level][row])
					put(level+1, j)
				}
				return
			}
			for e := range size {
				for k, rest := len(shape)-1, e; k > n; k-- {
					at[k] = int64(rest % shape[k])
					rest /= shape[k]
				}
				copy(dst, at)
				dst = dst[len(shape):]
			}
		}
		for i := range count {
			at[0] = int64(i)
			put(0, i)
		}
		c.set(1, reshaped(values, values.Len()))
		return c.outputInts(2, tensor.Int64, shape, len(shape))
	}, nil
}

func raggedRange(s *site) (kernel, error) {
	d := s.dtype("Tsplits", tensor.Int64)
	return numbers(rangesOf[float32](d), rangesOf[float64](d), nil, nil, rangesOf[int32](d), rangesOf[int64](d), nil, nil, nil, nil).on(0), nil
}

func rangesOf[T number](d tensor.DType) kernel {
	return func(c call) error {
		if err := sameType(c.in); err != nil {
			return err
		}
		n := -1
		for i, v := range c.in {
			if len(v.T.Shape) > 1 || len(v.T.Shape) == 1 && n >= 0 && v.T.Shape[0] != n {
				return fmt.Errorf("input %d: expected a scalar or a vector as long as the others, got shape %v", i, v.T.Shape)
			}
			if len(v.T.Shape) == 1 {
				n = v.T.Shape[0]
			}
		}
		if n < 0 {
			n = 1
		}
		pick := func(k, i int) T {
			if v := tensor.Values[T](c.t(k)); len(c.t(k).Shape) == 1 {
				return v[i]
			} else {
				return v[0]
			}
		}
		splits := make([]int, n+1)
		for i := range n {
			start, limit, delta := pick(0, i), pick(1, i), pick(2, i)
			if delta == 0 {
				return fmt.Errorf("requires delta != 0")
			}
			size := 0.0
			if delta > 0 && start < limit || delta < 0 && start > limit {
				size = stepCount(start, limit, delta, false)
			}
			if !(size < 1<<40) {
				return fmt.Errorf("%w: a range of %v elements", ErrLimit, size)
			}
			if splits[i+1] = splits[i] + int(size); splits[i+1] > maxElements {
				return fmt.Errorf("%w: %d elements", ErrLimit, splits[i+1])
			}
		}
		dst, err := outputOf[T](c, 1, splits[n])
		if err != nil {
			return err
		}
		for i := range n {
			v, delta := pick(0, i), pick(2, i)
			for j := splits[i]; j < splits[i+1]; j++ {
				dst[j] = v
				v += delta
			}
		}
		return c.outputInts(0, d, splits, n+1)
	}
}

func raggedGather(s *site) (kernel, error) {
	n := s.count("PARAMS_RAGGED_RANK", 1, maxRank)
	if n != 1 || s.node.Int("OUTPUT_RAGGED_RANK", 1) != 1 {
		return nil, fmt.Errorf("ragged ranks other than 1 %w", ErrUnsupported)
	}
	s.outputs = 2
	return func(c call) error {
		if len(c.in) != 3 {
			return fmt.Errorf("expected 3 inputs, got %d", len(c.in))
		}
		values := c.t(1)
		if len(values.Shape) == 0 || len(c.t(2).Shape) != 1 {
			return fmt.Errorf("expected values and a vector of indices, got shapes %v and %v", values.Shape, c.t(2).Shape)
		}
		from, err := splitsOf(c, "params_nested_splits", c.t(0), values.Shape[0])
		if err != nil {
			return err
		}
		ids, err := c.integers("indices", c.t(2))
		if err != nil {
			return err
		}
		splits := make([]int, len(ids)+1)
		for i, v := range ids {
			if v < 0 || v >= len(from)-1 {
				return fmt.Errorf("indices[%d] = %d is not in [0, %d)", i, v, len(from)-1)
			}
			splits[i+1] = splits[i] + from[v+1] - from[v]
		}
		out, err := c.output(1, values.DType, append([]int{splits[len(ids)]}, values.Shape[1:]...)...)
		if err != nil {
			return err
		}
		size := product(values.Shape[1:])
		for i, v := range ids {
			copyCells(out, splits[i]*size, values, from[v]*size, (from[v+1]-from[v])*size)
		}
		return c.outputInts(0, c.t(0).DType, splits, len(splits))
	}, nil
}
