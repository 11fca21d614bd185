package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// sparseSoftmax is the softmax over the entries in each row of the last dimension; missing entries don't count.
func sparseSoftmax[T float](c call) error {
	s, err := coordsOf(c.t(0), c.t(1), c.t(2))
	if err != nil {
		return err
	}
	if s.rank() < 2 {
		return errSparseRank
	}
	if err := s.check(); err != nil {
		return err
	}
	dst, err := outputOf[T](c, 0, s.n)
	if err != nil {
		return err
	}
	x, last := tensor.Values[T](c.t(1)), s.rank()-1
	for from := 0; from < s.n; {
		to := from + 1
		for to < s.n && slices.Equal(s.row(to)[:last], s.row(from)[:last]) {
			to++
		}
		top, sum := slices.Max(x[from:to]), 0.0
		for i := from; i < to; i++ {
			v := math.Exp(float64(x[i] - top))
			dst[i] = T(v)
			sum += v
		}
		for i := from; i < to; i++ {
			dst[i] = T(float64(dst[i]) / sum)
		}
		from = to
	}
	return nil
}

// sparseSplit splits a sparse tensor along a dimension; if the size isn't a multiple, the first parts are larger by 1.
func sparseSplit(s *site) (kernel, error) {
	n := s.count("num_split", 1, 1<<16)
	if n == 0 {
		s.fail("num_split: expected at least 1")
	}
	s.outputs = 3 * n
	return func(c call) error {
		values := c.t(2)
		p, err := coordsOf(c.t(1), values, c.t(3))
		if err != nil {
			return err
		}
		if err := p.check(); err != nil {
			return err
		}
		k, err := only("split_dim", c.t(0))
		if err != nil {
			return err
		}
		if k < -p.rank() || k >= p.rank() {
			return fmt.Errorf("Input split_dim should be between -%d and %d, got %d", p.rank(), p.rank(), k)
		}
		k = (k + p.rank()) % p.rank()
		if n > p.shape[k] {
			return fmt.Errorf("Input num_split should be between 1 and the splitting dimension size (%d), got %d", p.shape[k], n)
		}
		size, larger := p.shape[k]/n, p.shape[k]%n
		part := func(v int) (which, from int) {
			if edge := larger * (size + 1); v < edge {
				which = v / (size + 1)
				return which, which * (size + 1)
			} else {
				which = larger + (v-edge)/size
				return which, edge + (which-larger)*size
			}
		}
		counts := make([]int, n)
		for i := range p.n {
			which, _ := part(int(p.row(i)[k]))
			counts[which]++
		}
		for w, count := range counts {
			if _, err := c.output(w, tensor.Int64, count, p.rank()); err != nil {
				return err
			}
			if _, err := c.output(n+w, values.DType, count); err != nil {
				return err
			}
			shape := slices.Clone(p.shape)
			if shape[k] = size; w < larger {
				shape[k]++
			}
			if err := c.outputInts(2*n+w, tensor.Int64, shape, len(shape)); err != nil {
				return err
			}
			counts[w] = 0
		}
		for i := range p.n {
			w, from := part(int(p.row(i)[k]))
			row := tensor.Values[int64](c.out[w].T)[counts[w]*p.rank():]
			copy(row, p.row(i))
			row[k] -= int64(from)
			copyCells(c.out[n+w].T, counts[w], values, i, 1)
			counts[w]++
		}
		return nil
	}, nil
}

// sparseSliceGrad returns the gradients of the entries that a slice kept, and 0 for the others.
func sparseSliceGrad(c call) error {
	grad, in, out := c.t(0), c.t(1), c.t(3)
	start, err := c.vector("input_start", c.t(2))
	if err != nil {
		return err
	}
	r := len(start)
	if in.DType != tensor.Int64 || out.DType != tensor.Int64 || len(in.Shape) != 2 || len(out.Shape) != 2 || in.Shape[1] != r || out.Shape[1] != r ||
		len(grad.Shape) != 1 || grad.Shape[0] != out.Shape[0] {
		return fmt.Errorf("input_indices %v, input_start [%d], output_indices %v and backprop_val_grad %v do not fit", in.Shape, r, out.Shape, grad.Shape)
	}
	dst, err := c.output(0, grad.DType, in.Shape[0])
	if err != nil {
		return err
	}
	from, to := tensor.Values[int64](in), tensor.Values[int64](out)
	at := 0 // both are sorted
	for i := 0; i < in.Shape[0] && at < out.Shape[0]; i++ {
		same := true
		for k := range r {
			same = same && from[i*r+k] == to[at*r+k]+int64(start[k])
		}
		if same {
			copyCells(dst, i, grad, at, 1)
			at++
		}
	}
	return nil
}

// fillEmptyRowsGrad returns the gradients of the original entries, and the sum of the others for the default value.
func fillEmptyRowsGrad(c call) error {
	back, grad := c.t(0), c.t(1)
	if back.DType != tensor.Int64 || len(back.Shape) != 1 {
		return fmt.Errorf("reverse_index_map must be a vector, saw: %s", shapeText(back.Shape))
	}
	if len(grad.Shape) != 1 {
		return fmt.Errorf("grad_values must be a vector, saw: %s", shapeText(grad.Shape))
	}
	out, err := c.output(0, grad.DType, back.Len())
	if err != nil {
		return err
	}
	rest, err := c.output(1, grad.DType)
	if err != nil {
		return err
	}
	if err := c.room(grad.Len(), 9); err != nil {
		return err
	}
	visited := make([]bool, grad.Len())
	for i, v := range tensor.Values[int64](back) {
		if v < 0 || v >= int64(len(visited)) {
			return fmt.Errorf("Elements in reverse index must be in [0, %d) but got %d", len(visited), v)
		}
		visited[v] = true
		copyCells(out, i, grad, int(v), 1)
	}
	for i, seen := range visited {
		if !seen {
			if err := addSlices(rest, []int{0}, rows(grad, nil, i, 1), 1); err != nil {
				return err
			}
		}
	}
	return nil
}
