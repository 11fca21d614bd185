package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// raggedInputs are the columns of a ragged cross, grouped by kind; letters give the order of the columns.
type raggedInputs struct {
	order                 string // one of R, S and D per column
	ragged, sparse, dense int
}

// raggedCross combines ragged, sparse and dense columns row by row into a ragged tensor.
func raggedCross(s *site) (kernel, error) {
	x := raggedInputs{order: s.str("input_order", ""), ragged: len(list[tensor.DType](s, "ragged_values_types")),
		sparse: s.count("Nsparse", 0, 1<<12), dense: len(list[tensor.DType](s, "dense_types"))}
	buckets, key, hashed := s.node.Int("num_buckets", 0), uint64(s.node.Int("hash_key", 0)), s.boolean("hashed_output", false)
	values, splits := s.dtype("out_values_type", tensor.Int64), s.dtype("out_row_splits_type", tensor.Int64)
	counts := map[rune]int{}
	for _, kind := range x.order {
		counts[kind]++
	}
	if len(counts) == 0 || counts['R'] != x.ragged || counts['S'] != x.sparse || counts['D'] != x.dense || len(x.order) != x.ragged+x.sparse+x.dense {
		return nil, fmt.Errorf("attribute input_order: expected %d times R, %d times S and %d times D, got %q", x.ragged, x.sparse, x.dense, clip([]byte(x.order)))
	}
	if buckets < 0 || hashed != (values == tensor.Int64) {
		return nil, fmt.Errorf("num_buckets %d, hashed_output %v: expected no negative number, and int64 for hashes alone, got %v", buckets, hashed, values)
	}
	return func(c call) error {
		cols, batch, err := x.columns(c)
		if err != nil {
			return err
		}
		emit := hashedCross(cols, key, buckets)
		if !hashed {
			emit = c.joinedCross(cols, []byte("_X_"))
		}
		return c.raggedOutputs(cols, batch, [2]tensor.DType{values, splits}, emit)
	}, nil
}

// raggedOutputs sets the outputs to the values and the row splits of all combinations.
func (c call) raggedOutputs(cols []crossColumn, batch int, types [2]tensor.DType, emit func(out *tensor.Tensor, k int, at []int) error) error {
	counts, total, _, err := combinations(cols, batch)
	if err != nil {
		return err
	}
	out, err := c.output(0, types[0], total)
	if err != nil {
		return err
	}
	if err := c.room(batch+1, intBytes); err != nil {
		return err
	}
	ends := make([]int, batch+1)
	for i, n := range counts {
		ends[i+1] = ends[i] + n
	}
	if err := c.outputInts(1, types[1], ends, len(ends)); err != nil {
		return err
	}
	return combine(c, cols, counts, func(k, _, _ int, at []int) error { return emit(out, k, at) })
}

// columns reads the columns in their order. The inputs are ragged values, their splits, sparse indices, values and shapes, and dense columns.
func (x raggedInputs) columns(c call) (cols []crossColumn, batch int, err error) {
	if want := 2*x.ragged + 3*x.sparse + x.dense; len(c.in) != want {
		return nil, 0, fmt.Errorf("expected %d inputs, got %d", want, len(c.in))
	}
	sparse, dense := 2*x.ragged, 2*x.ragged+3*x.sparse
	if batch, err = x.batch(c, sparse, dense); err != nil {
		return nil, 0, err
	}
	if err := c.payRows(batch, len(x.order)); err != nil {
		return nil, 0, err
	}
	next := map[rune]int{}
	for i, kind := range x.order {
		k := next[kind]
		next[kind]++
		var col crossColumn
		switch kind {
		case 'R':
			col, err = c.raggedColumn(c.t(k), c.t(x.ragged+k))
		case 'S':
			col, err = sparseCrossColumn(c.t(sparse+k), c.t(sparse+x.sparse+k), c.t(sparse+2*x.sparse+k), batch)
		default:
			col, err = denseCrossColumn(c.t(dense + k))
		}
		if err == nil && col.values.DType != tensor.Int64 && col.values.DType != tensor.String {
			err = fmt.Errorf("expected int64 or strings, got %v", col.values.DType)
		}
		if err == nil && col.starts != nil && len(col.starts) != batch+1 || err == nil && col.starts == nil && col.values.Shape[0] != batch {
			err = fmt.Errorf("inputs must all have the same batch dimension size")
		}
		if err != nil {
			return nil, 0, fmt.Errorf("column %d: %w", i, err)
		}
		cols = append(cols, col)
	}
	return cols, batch, nil
}

// batch returns the number of rows of the first ragged column, else of the first sparse one, else of the first dense one.
func (x raggedInputs) batch(c call, sparse, dense int) (int, error) {
	n := -1
	switch {
	case x.ragged > 0:
		n = c.t(x.ragged).Len() - 1
	case x.sparse > 0:
		shape, err := integers("sparse_shape", c.t(sparse+2*x.sparse))
		if err != nil {
			return 0, err
		}
		if len(shape) > 0 {
			n = shape[0]
		}
	case len(c.t(dense).Shape) > 0:
		n = c.t(dense).Shape[0]
	}
	if n < 0 {
		return 0, fmt.Errorf("expected a column of rows, got a batch size of %d", n)
	}
	return n, nil
}

func (c call) raggedColumn(values, splits *tensor.Tensor) (crossColumn, error) {
	if err := rank("ragged_values", values, 1); err != nil {
		return crossColumn{}, err
	}
	starts, err := splitsOf(c, "ragged_row_splits", splits, values.Len())
	return crossColumn{values: values, starts: starts}, err
}

func denseCrossColumn(t *tensor.Tensor) (crossColumn, error) {
	err := rank("dense_inputs", t, 2)
	if err != nil {
		return crossColumn{}, err
	}
	return crossColumn{values: t, width: t.Shape[1]}, nil
}
