package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// raggedVariant is a ragged tensor in one variant: the outermost splits first.
type raggedVariant struct {
	splits []*tensor.Tensor
	values *tensor.Tensor
}

// MemoryBytes returns the bytes that the tensor takes.
func (r *raggedVariant) MemoryBytes() int {
	n := tensorHeader + sizeOf(r.values)
	for _, s := range r.splits {
		n += sizeOf(s)
	}
	return n
}

// rows returns the number of rows; it fails for a scalar.
func (r *raggedVariant) rows() (int, error) {
	switch {
	case len(r.splits) > 0:
		return len(r.splits[0].Bytes)/r.splits[0].DType.Size() - 1, nil
	case len(r.values.Shape) == 0:
		return 0, fmt.Errorf("values of a ragged tensor: expected at least a vector")
	}
	return r.values.Shape[0], nil
}

func raggedToVariant(s *site) (kernel, error) {
	batched := s.boolean("batched_input", false)
	n := s.count("RAGGED_RANK", len(s.node.Inputs)-1, maxRank)
	return func(c call) error {
		if len(c.in) != n+1 {
			return fmt.Errorf("expected %d inputs, got %d", n+1, len(c.in))
		}
		r := &raggedVariant{values: c.t(n)}
		for i := range n {
			r.splits = append(r.splits, c.t(i))
		}
		if !batched {
			c.out[0] = Value{Resource: r}
			return nil
		}
		return c.unbatch(r)
	}, nil
}

// unbatch sets output 0 to the rows of a ragged tensor.
func (c call) unbatch(r *raggedVariant) error {
	if len(r.values.Shape) == 0 {
		return fmt.Errorf("values: expected at least a vector")
	}
	levels, n := make([][]int, len(r.splits)), r.values.Shape[0]
	for i := len(levels) - 1; i >= 0; i-- {
		s, err := splitsOf(c, "rt_nested_splits", r.splits[i], n)
		if err != nil {
			return err
		}
		levels[i], n = s, len(s)-1
	}
	a, err := newVariantArray(c, n)
	if err != nil {
		return err
	}
	if err := c.room(n*(len(levels)+1), tensorHeader); err != nil {
		return err
	}
	for i := range a.all {
		row, err := c.raggedRow(r, levels, i)
		if err != nil {
			return err
		}
		a.all[i] = Value{Resource: row}
	}
	c.out[0] = Value{Resource: a}
	return nil
}

// raggedRow returns row i: its values are a view, its splits begin at 0.
func (c call) raggedRow(r *raggedVariant, levels [][]int, i int) (*raggedVariant, error) {
	row, each := &raggedVariant{}, product(r.values.Shape[1:])
	if len(levels) == 0 {
		row.values = rows(r.values, r.values.Shape[1:], i*each, each)
		return row, nil
	}
	from, to := levels[0][i], levels[0][i+1]
	for k, s := range levels[1:] {
		some := s[from : to+1]
		t, err := c.alloc(r.splits[k+1].DType, len(some))
		if err != nil {
			return nil, err
		}
		moved := slices.Clone(some)
		for j := range moved {
			moved[j] -= some[0]
		}
		if err := setInts(t, moved); err != nil {
			return nil, err
		}
		row.splits = append(row.splits, t)
		from, to = some[0], some[len(some)-1]
	}
	row.values = rows(r.values, slices.Concat([]int{to - from}, r.values.Shape[1:]), from*each, (to-from)*each)
	return row, nil
}

func raggedFromVariant(s *site) (kernel, error) {
	in, out := s.node.Int("input_ragged_rank", -1), s.count("output_ragged_rank", 0, maxRank)
	values, splits := s.dtype("Tvalues", tensor.Invalid), s.dtype("Tsplits", tensor.Int64)
	if in < -1 || in > maxRank {
		s.fail("attribute input_ragged_rank: expected -1 to %d, got %d", maxRank, in)
	}
	s.outputs = out + 1
	return func(c call) error {
		shape, all := c.variants(0)
		rank := in
		if rank < 0 {
			rank = out - len(shape)
		}
		if rank < 0 || out != rank+len(shape) {
			return fmt.Errorf("output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(): output_ragged_rank: %d, input_ragged_rank: %d, encoded_ragged.dims(): %d", out, rank, len(shape))
		}
		parts := make([]*raggedVariant, len(all))
		for i, v := range all {
			r, ok := v.Resource.(*raggedVariant)
			if !ok {
				return fmt.Errorf("Input Variant element at index %d doesn't hold a RaggedTensorVariant", i)
			}
			if err := r.fits(rank, values, splits); err != nil {
				return fmt.Errorf("encoded variant %d: %w", i, err)
			}
			parts[i] = r
		}
		if len(shape) == 0 {
			for k, s := range append(slices.Clone(parts[0].splits), parts[0].values) {
				c.set(k, s)
			}
			return nil
		}
		return c.stackRagged(shape, parts, rank, values, splits)
	}, nil
}

// fits fails if the ragged tensor has another rank or other types.
func (r *raggedVariant) fits(rank int, values, splits tensor.DType) error {
	if len(r.splits) != rank {
		return fmt.Errorf("expected a ragged rank of %d, got %d", rank, len(r.splits))
	}
	if r.values.DType != values {
		return fmt.Errorf("expected values of type %v, got %v", values, r.values.DType)
	}
	for _, s := range r.splits {
		if s.DType != splits {
			return fmt.Errorf("expected row_splits of type %v, got %v", splits, s.DType)
		}
	}
	return nil
}

// stackRagged sets the outputs to parts stacked to a shape: first the splits of the uniform dimensions, then the parts' own splits and values.
func (c call) stackRagged(shape []int, parts []*raggedVariant, rank int, values, splits tensor.DType) error {
	n := 1
	for i, d := range shape[:len(shape)-1] {
		n *= d
		even := make([]int, n+1)
		for j := range even {
			even[j] = j * shape[i+1]
		}
		if err := c.outputInts(i, splits, even, len(even)); err != nil {
			return err
		}
	}
	first := make([]int, len(parts)+1)
	for i, p := range parts {
		rows, err := p.rows()
		if err != nil {
			return err
		}
		first[i+1] = first[i] + rows
	}
	if err := c.outputInts(len(shape)-1, splits, first, len(first)); err != nil {
		return err
	}
	for k := range rank {
		if err := c.joinSplits(len(shape)+k, parts, k, splits); err != nil {
			return err
		}
	}
	flat := make([]*tensor.Tensor, len(parts))
	for i, p := range parts {
		flat[i] = p.values
	}
	return c.joinValues(len(shape)+rank, flat, values)
}

// joinSplits sets output i to the concatenation of splits k of all parts.
func (c call) joinSplits(i int, parts []*raggedVariant, k int, d tensor.DType) error {
	n := 1
	for _, p := range parts {
		n += max(p.splits[k].Len()-1, 0)
	}
	if err := c.room(n, 8); err != nil {
		return err
	}
	joined := append(make([]int, 0, n), 0)
	for _, p := range parts {
		s, err := c.vector("row_splits", p.splits[k])
		if err != nil {
			return err
		}
		end := joined[len(joined)-1]
		for j := 1; j < len(s); j++ {
			joined = append(joined, end+s[j])
		}
	}
	return c.outputInts(i, d, joined, len(joined))
}

// joinValues sets output i to the concatenation of tensors along their first axis.
func (c call) joinValues(i int, parts []*tensor.Tensor, d tensor.DType) error {
	shape := []int{0}
	for k, p := range parts {
		switch {
		case len(p.Shape) == 0:
			return fmt.Errorf("values of a ragged tensor: expected at least a vector")
		case k == 0:
			shape = append(shape, p.Shape[1:]...)
		case !slices.Equal(shape[1:], p.Shape[1:]):
			return fmt.Errorf("All flat_values must have compatible shapes. Shape at index 0: %v. Shape at index %d: %v.", shape[1:], k, p.Shape[1:])
		}
		shape[0] += p.Shape[0]
	}
	out, err := c.output(i, d, shape...)
	if err != nil {
		return err
	}
	at := 0
	for _, p := range parts {
		copyCells(out, at, p, 0, p.Len())
		at += p.Len()
	}
	return nil
}

// raggedToVariantGradient joins the gradients of rows; a scalar stands for a row of zeros.
func raggedToVariantGradient(s *site) (kernel, error) {
	d := s.dtype("Tvalues", tensor.Invalid)
	return func(c call) error {
		shape, all := c.variants(0)
		want, err := c.vector("dense_values_shape", c.t(2))
		if err != nil {
			return err
		}
		if len(shape) != 1 || len(want) == 0 {
			return fmt.Errorf("expected a vector of variants and a shape of rows, got shapes %v and %v", shape, want)
		}
		splits, err := splitsOf(c, "row_splits", c.t(1), want[0])
		if err != nil {
			return err
		}
		if len(splits) != len(all)+1 {
			return fmt.Errorf("row_splits: expected %d rows, got %d", len(all), len(splits)-1)
		}
		out, err := c.output(0, d, want...)
		if err != nil {
			return err
		}
		each := product(want[1:])
		for i, v := range all {
			r, ok := v.Resource.(*raggedVariant)
			if !ok || len(r.splits) > 0 || r.values.DType != d {
				return fmt.Errorf("encoded_ragged_grad %d: expected a ragged tensor of rank 0 and type %v", i, d)
			}
			n := (splits[i+1] - splits[i]) * each
			if len(r.values.Shape) == 0 {
				continue
			}
			if r.values.Len() != n {
				return fmt.Errorf("encoded_ragged_grad %d: expected %d values, got shape %v", i, n, r.values.Shape)
			}
			copyCells(out, splits[i]*each, r.values, 0, n)
		}
		return nil
	}, nil
}
