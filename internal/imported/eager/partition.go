package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

func dynamicPartition(s *site) (kernel, error) {
	s.outputs = s.count("num_partitions", 0, 1<<16)
	return func(c call) error {
		t, by := c.t(0), c.t(1)
		if err := want("partitions", by, tensor.Int32); err != nil {
			return err
		}
		r := len(by.Shape)
		if r > len(t.Shape) || !slices.Equal(t.Shape[:r], by.Shape) {
			return fmt.Errorf("data of shape %v must start with the shape of partitions, %v", t.Shape, by.Shape)
		}
		counts := make([]int, len(c.out))
		for i, p := range tensor.Values[int32](by) {
			if p < 0 || int(p) >= len(counts) {
				return fmt.Errorf("partitions%s = %d is not in [0, %d)", at(by.Shape, i), p, len(counts))
			}
			counts[p]++
		}
		for i, n := range counts {
			if _, err := c.output(i, t.DType, append([]int{n}, t.Shape[r:]...)...); err != nil {
				return err
			}
		}
		n := product(t.Shape[r:])
		clear(counts)
		for i, p := range tensor.Values[int32](by) {
			copyCells(c.out[p].T, counts[p]*n, t, i*n, n)
			counts[p]++
		}
		return nil
	}, nil
}

func dynamicStitch(s *site) (kernel, error) {
	n := s.count("N", len(s.node.Inputs)/2, 1<<16)
	return func(c call) error {
		if n == 0 || len(c.in) != 2*n {
			return fmt.Errorf("expected %d inputs, got %d", 2*n, len(c.in))
		}
		if err := sameType(c.in[n:]); err != nil {
			return err
		}
		most := -1
		first := c.t(n)
		if len(c.t(0).Shape) > len(first.Shape) {
			return fmt.Errorf("data[0] of shape %v must start with the shape of indices[0], %v", first.Shape, c.t(0).Shape)
		}
		rest := first.Shape[len(c.t(0).Shape):]
		for i := range n {
			if !slices.Equal(c.t(n+i).Shape, slices.Concat(c.t(i).Shape, rest)) {
				return fmt.Errorf("data[%d]: expected shape %v, got %v", i, slices.Concat(c.t(i).Shape, rest), c.t(n+i).Shape)
			}
			if err := want("indices", c.t(i), tensor.Int32); err != nil {
				return err
			}
			for _, v := range tensor.Values[int32](c.t(i)) {
				if v < 0 {
					return fmt.Errorf("indices[%d]: %d is out of range", i, v)
				}
				most = max(most, int(v))
			}
		}
		out, err := c.output(0, first.DType, append([]int{most + 1}, rest...)...)
		if err != nil {
			return err
		}
		size := product(rest)
		for i := range n {
			putRows(out, c.t(n+i), tensor.Values[int32](c.t(i)), size)
		}
		return nil
	}, nil
}

func reverseSequence(s *site) (kernel, error) {
	seqDim, batchDim := s.node.Int("seq_dim", 0), s.node.Int("batch_dim", 0)
	return func(c call) error {
		t := c.t(0)
		lengths, err := c.vector("seq_lengths", c.t(1))
		if err != nil {
			return err
		}
		r := len(t.Shape)
		if seqDim < 0 || batchDim < 0 || seqDim >= r || batchDim >= r || seqDim == batchDim || len(lengths) != t.Shape[batchDim] {
			return fmt.Errorf("input of shape %v and %d seq_lengths do not fit seq_dim %d and batch_dim %d", t.Shape, len(lengths), seqDim, batchDim)
		}
		out, err := c.output(0, t.DType, t.Shape...)
		if err != nil {
			return err
		}
		all := contiguous(t.Shape)
		box := slices.Clone(t.Shape)
		box[batchDim] = 1
		for b, n := range lengths {
			if n < 0 || n > t.Shape[seqDim] {
				return fmt.Errorf("seq_lengths[%d] = %d: expected 0 to %d", b, n, t.Shape[seqDim])
			}
			for i := range t.Shape[seqDim] {
				from := i
				if i < n {
					from = n - 1 - i
				}
				box[seqDim] = 1
				base := b * all.steps[batchDim]
				if err := copyBox(box, out, stride{base + i*all.steps[seqDim], all.steps}, t, stride{base + from*all.steps[seqDim], all.steps}); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}
