package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sparseOps work on sparse tensors: indices [n, rank], values [n] and a dense shape [rank].
var sparseOps = map[*ops.Def]maker{
	ops.SparseToDense:           sparseToDense,
	ops.SparseReshape:           plain(sparseReshape),
	ops.SparseFillEmptyRows:     plain(sparseFillEmptyRows),
	ops.SparseReorder:           plain(sparseReorder),
	ops.SparseSlice:             plain(sparseSlice),
	ops.SparseConcat:            sparseConcat,
	ops.SparseTensorDenseMatMul: sparseDenseMatMul,
	ops.SparseDenseCwiseMul:     plain(sparseCwise(arithmetic(ops.Mul))),
	ops.SparseDenseCwiseDiv:     plain(sparseCwise(dividing)),
	ops.SparseDenseCwiseAdd:     plain(sparseCwise(arithmetic(ops.AddV2))),
}

// coords are the indices and shape of a sparse tensor.
type coords struct {
	index []int64 // n·rank
	shape []int
	n     int
}

func (s coords) rank() int         { return len(s.shape) }
func (s coords) row(i int) []int64 { return s.index[i*len(s.shape) : (i+1)*len(s.shape)] }

// coordsOf checks the parts of a sparse tensor; values may be nil.
func coordsOf(indices, values, shape *tensor.Tensor) (coords, error) {
	s := coords{index: tensor.Values[int64](indices)}
	if err := want("indices", indices, tensor.Int64); err != nil {
		return s, err
	}
	var err error
	if s.shape, err = integers("dense_shape", shape); err != nil {
		return s, err
	}
	if len(indices.Shape) != 2 || len(shape.Shape) != 1 || indices.Shape[1] != len(s.shape) {
		return s, fmt.Errorf("expected indices [n,r] and dense_shape [r], got shapes %v and %v", indices.Shape, shape.Shape)
	}
	s.n = indices.Shape[0]
	if values != nil && (len(values.Shape) != 1 || values.Shape[0] != s.n) {
		return s, fmt.Errorf("expected %d values, one for each of the indices, got shape %v", s.n, values.Shape)
	}
	for _, d := range s.shape {
		if d < 0 {
			return s, fmt.Errorf("dense_shape %v: expected no negative size", s.shape)
		}
	}
	return s, nil
}

// check fails if an index is outside the shape.
func (s coords) check() error {
	for i := range s.n {
		for k, v := range s.row(i) {
			if v < 0 || v >= int64(s.shape[k]) {
				return fmt.Errorf("indices[%d] = %v is out of bounds: need 0 <= index < %v", i, s.row(i), s.shape)
			}
		}
	}
	return nil
}

func sparseToDense(s *site) (kernel, error) {
	strict := s.boolean("validate_indices", true)
	return func(c call) error {
		idx, values, def := c.t(0), c.t(2), c.t(3)
		shape, err := c.vector("output_shape", c.t(1))
		if err != nil {
			return err
		}
		if len(def.Shape) != 0 || def.DType != values.DType {
			return fmt.Errorf("default_value should be a scalar of type %v, got %v of shape %v", values.DType, def.DType, def.Shape)
		}
		ids, err := c.integers("sparse_indices", idx)
		if err != nil {
			return err
		}
		n, r := 1, 1
		if len(idx.Shape) > 0 {
			n = idx.Shape[0]
		}
		if len(idx.Shape) > 1 {
			r = idx.Shape[1]
		}
		if len(idx.Shape) > 2 || r != len(shape) || len(values.Shape) > 1 || len(values.Shape) == 1 && values.Shape[0] != n {
			return fmt.Errorf("sparse_indices %v, output_shape %v and values %v do not fit", idx.Shape, shape, values.Shape)
		}
		out, err := c.output(0, values.DType, shape...)
		if err != nil {
			return err
		}
		fillCells(out, def, 0)
		steps := contiguous(shape).steps
		last := -1
		for i := range n {
			place := 0
			for k, v := range ids[i*r : (i+1)*r] {
				if v < 0 || v >= shape[k] {
					return fmt.Errorf("indices[%d] = %v is out of bounds: need 0 <= index < %v", i, ids[i*r:(i+1)*r], shape)
				}
				place += v * steps[k]
			}
			if strict && place <= last {
				what := "out of order. Many sparse ops require sorted indices"
				if place == last {
					what = "repeated"
				}
				return fmt.Errorf("indices[%d] = %v is %s", i, ids[i*r:(i+1)*r], what)
			}
			last = place
			from := i
			if len(values.Shape) == 0 {
				from = 0
			}
			copyCells(out, place, values, from, 1)
		}
		return nil
	}, nil
}

func sparseReshape(c call) error {
	s, err := coordsOf(c.t(0), nil, c.t(1))
	if err != nil {
		return err
	}
	to, err := c.vector("new_shape", c.t(2))
	if err != nil {
		return err
	}
	total, err := elements(s.shape)
	if err != nil {
		return err
	}
	free := -1
	for i, d := range to {
		if d == -1 && free < 0 {
			free, to[i] = i, 1
		} else if d < 0 {
			return fmt.Errorf("new_shape %v: expected sizes and at most one -1", to)
		}
	}
	known, err := elements(to)
	if err != nil {
		return err
	}
	if free >= 0 {
		if known == 0 || total%known != 0 {
			return fmt.Errorf("reshape cannot infer the missing input size of %v for %d dense elements", to, total)
		}
		to[free] = total / known
	} else if known != total {
		return fmt.Errorf("input to reshape is a tensor with %d dense values, but the requested shape %v has %d", total, to, known)
	}
	if err := c.outputInts(1, tensor.Int64, to, len(to)); err != nil {
		return err
	}
	if slices.Equal(s.shape, to) {
		c.out[0] = c.in[0]
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	dst, err := outputOf[int64](c, 0, s.n, len(to))
	if err != nil {
		return err
	}
	from, steps := contiguous(s.shape).steps, contiguous(to).steps
	for i := range s.n {
		place := 0
		for k, v := range s.row(i) {
			place += int(v) * from[k]
		}
		for k, step := range steps {
			dst[i*len(to)+k] = int64(place / step)
			place %= step
		}
	}
	return nil
}

func sparseFillEmptyRows(c call) error {
	values, def := c.t(1), c.t(3)
	s, err := coordsOf(c.t(0), values, c.t(2))
	if err != nil {
		return err
	}
	if s.rank() == 0 || len(def.Shape) != 0 || def.DType != values.DType {
		return fmt.Errorf("default_value: expected a scalar of type %v, got %v of shape %v; dense_shape %v", values.DType, def.DType, def.Shape, s.shape)
	}
	rows := s.shape[0]
	if err := c.room(rows, 8); err != nil {
		return err
	}
	empty, err := outputOf[bool](c, 2, rows)
	if err != nil {
		return err
	}
	starts := make([]int, rows+1)
	for i := range s.n {
		v := s.row(i)[0]
		if v < 0 || v >= int64(rows) {
			return fmt.Errorf("indices(%d, 0) is invalid: %d >= %d", i, v, rows)
		}
		starts[v]++
	}
	total := 0
	for i, n := range starts[:rows] {
		empty[i] = n == 0
		starts[i] = total
		total += max(n, 1)
	}
	index, err := outputOf[int64](c, 0, total, s.rank())
	if err != nil {
		return err
	}
	out, err := c.output(1, values.DType, total)
	if err != nil {
		return err
	}
	back, err := outputOf[int64](c, 3, s.n)
	if err != nil {
		return err
	}
	for i := range s.n {
		p := &starts[s.row(i)[0]]
		copy(index[*p*s.rank():], s.row(i))
		copyCells(out, *p, values, i, 1)
		back[i] = int64(*p)
		*p++
	}
	for i, e := range empty {
		if e {
			index[starts[i]*s.rank()] = int64(i)
			copyCells(out, starts[i], def, 0, 1)
		}
	}
	return nil
}

// sortedOutput sets outputs `first` and first+1 to the entries, sorted by their indices.
func (c call) sortedOutput(first int, s coords, values *tensor.Tensor) error {
	order := make([]int, s.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(s.row(a), s.row(b)) })
	dst, err := outputOf[int64](c, first, s.n, s.rank())
	if err != nil {
		return err
	}
	out, err := c.output(first+1, values.DType, s.n)
	if err != nil {
		return err
	}
	for j, i := range order {
		copy(dst[j*s.rank():], s.row(i))
		copyCells(out, j, values, i, 1)
	}
	return nil
}

func sparseReorder(c call) error {
	s, err := coordsOf(c.t(0), c.t(1), c.t(2))
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	return c.sortedOutput(0, s, c.t(1))
}

func sparseSlice(c call) error {
	values := c.t(1)
	s, err := coordsOf(c.t(0), values, c.t(2))
	if err != nil {
		return err
	}
	start, err := c.vector("start", c.t(3))
	if err != nil {
		return err
	}
	size, err := c.vector("size", c.t(4))
	if err != nil {
		return err
	}
	if len(start) != s.rank() || len(size) != s.rank() {
		return fmt.Errorf("expected start and size of %d elements, got %d and %d", s.rank(), len(start), len(size))
	}
	shape := make([]int, s.rank())
	for k, d := range s.shape {
		if start[k] < 0 || size[k] < 0 {
			return fmt.Errorf("start %v and size %v: expected no negative numbers", start, size)
		}
		if start[k] < d {
			shape[k] = min(size[k], d-start[k])
		}
	}
	var keep []int
	for i := range s.n {
		in := true
		for k, v := range s.row(i) {
			in = in && int(v) >= start[k] && int(v)-start[k] < shape[k]
		}
		if in {
			keep = append(keep, i)
		}
	}
	dst, err := outputOf[int64](c, 0, len(keep), s.rank())
	if err != nil {
		return err
	}
	out, err := c.output(1, values.DType, len(keep))
	if err != nil {
		return err
	}
	for j, i := range keep {
		for k, v := range s.row(i) {
			dst[j*s.rank()+k] = v - int64(start[k])
		}
		copyCells(out, j, values, i, 1)
	}
	return c.outputInts(2, tensor.Int64, shape, len(shape))
}

func sparseConcat(s *site) (kernel, error) {
	n := s.count("N", len(s.node.Inputs)/3, 1<<16)
	at := s.node.Int("concat_dim", 0)
	return func(c call) error {
		if n == 0 || len(c.in) != 3*n {
			return fmt.Errorf("expected %d inputs, got %d", 3*n, len(c.in))
		}
		if err := sameType(c.in[n : 2*n]); err != nil {
			return err
		}
		var all coords
		var parts []Value
		k := 0
		for i := range n {
			p, err := coordsOf(c.t(i), c.t(n+i), c.t(2*n+i))
			if err != nil {
				return err
			}
			if i == 0 {
				if k, err = axis("concat_dim", at, p.rank()); err != nil {
					return err
				}
				all.shape = slices.Clone(p.shape)
				all.shape[k] = 0
			}
			for j, d := range p.shape {
				if len(p.shape) != len(all.shape) || j != k && d != all.shape[j] {
					return fmt.Errorf("shapes of sparse tensors must match but for dimension %d: got %v and %v", k, all.shape, p.shape)
				}
			}
			for r := range p.n {
				all.index = append(all.index, p.row(r)...)
				all.index[len(all.index)-p.rank()+k] += int64(all.shape[k])
			}
			if all.shape[k] += p.shape[k]; all.shape[k] < 0 {
				return fmt.Errorf("%w: dense_shape overflows", ErrLimit)
			}
			all.n += p.n
			parts = append(parts, c.in[n+i])
		}
		values := call{ctx: c.ctx, env: c.env, out: make([]Value, 1)}
		if err := join(values, parts, 0); err != nil {
			return err
		}
		if err := c.sortedOutput(0, all, values.out[0].T); err != nil {
			return err
		}
		return c.outputInts(2, tensor.Int64, all.shape, len(all.shape))
	}, nil
}
