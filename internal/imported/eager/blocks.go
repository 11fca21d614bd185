package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// blockOps move blocks of elements.
var blockOps = map[*ops.Def]maker{
	ops.Roll:           plain(roll),
	ops.MatrixBandPart: plain(bandPart),
	ops.SpaceToBatchND: plain(spaceToBatch),
	ops.BatchToSpaceND: plain(batchToSpace),
	ops.SpaceToBatch:   ofImages(spaceToBatch),
	ops.BatchToSpace:   ofImages(batchToSpace),
}

// roll shifts one dimension after the other.
func roll(c call) error {
	shifts, err := c.integers("shift", c.t(1))
	if err != nil {
		return err
	}
	axes, err := c.integers("axis", c.t(2))
	if err != nil {
		return err
	}
	if len(c.t(1).Shape) > 1 || len(c.t(2).Shape) > 1 {
		return fmt.Errorf("shift and axis must be scalars or vectors, got shapes %v and %v", c.t(1).Shape, c.t(2).Shape)
	}
	if len(shifts) != len(axes) {
		return fmt.Errorf("shift and axis must have the same size, got %d and %d", len(shifts), len(axes))
	}
	t := c.t(0)
	if len(t.Shape) == 0 {
		return fmt.Errorf("input: expected at least a vector, got a scalar")
	}
	for i, a := range axes {
		k, err := axis("axis", a, len(t.Shape))
		if err != nil {
			return err
		}
		out, err := c.alloc(t.DType, t.Shape...)
		if err != nil {
			return err
		}
		if out.Len() > 0 {
			l := laneOf(t.Shape, k)
			by := (shifts[i]%l.n + l.n) % l.n * l.inner
			n := l.n * l.inner
			for o := range l.outer {
				copyCells(out, o*n+by, t, o*n, n-by)
				copyCells(out, o*n, t, (o+1)*n-by, by)
			}
		}
		t = out
	}
	c.set(0, t)
	return nil
}

// bandPart keeps the diagonals of matrices from num_lower below to num_upper
// above the main one; a negative number keeps all of that side.
func bandPart(c call) error {
	t := c.t(0)
	lower, err := integer("num_lower", c.t(1))
	if err != nil {
		return err
	}
	upper, err := integer("num_upper", c.t(2))
	if err != nil {
		return err
	}
	r := len(t.Shape) - 2
	if r < 0 {
		return fmt.Errorf("input must be at least 2-dim, received shape: %v", t.Shape)
	}
	m, n := t.Shape[r], t.Shape[r+1]
	if lower > m || upper > n {
		return fmt.Errorf("num_lower and num_upper must be negative or at most %d and %d, got %d and %d", m, n, lower, upper)
	}
	out, err := c.output(0, t.DType, t.Shape...)
	if err != nil || out.Len() == 0 {
		return err
	}
	for row := range out.Len() / n {
		i, lo, hi := row%m, 0, n
		if lower >= 0 && lower < m {
			lo = min(max(i-lower, 0), n)
		}
		if upper >= 0 && upper < n {
			hi = min(i+upper+1, n)
		}
		if lo < hi {
			copyCells(out, row*n+lo, t, row*n+lo, hi-lo)
		}
	}
	return nil
}

// ofImages makes a kernel for images, which have square blocks, of a kernel for blocks of any shape.
func ofImages(f kernel) maker {
	return func(s *site) (kernel, error) {
		size := s.node.Int("block_size", 0)
		if size < 2 || size > 1<<20 {
			return nil, fmt.Errorf("block_size should be > 1, but was: %d", size)
		}
		block, err := tensor.FromSlice([]int32{int32(size), int32(size)}, 2)
		if err != nil {
			return nil, err
		}
		return func(c call) error {
			if len(c.t(0).Shape) != 4 {
				return fmt.Errorf("input rank should be: 4, but is: %d", len(c.t(0).Shape))
			}
			c.in = []Value{c.in[0], {T: block}, c.in[1]}
			return f(c)
		}, nil
	}
}

// blockArgs checks the block sizes and margins of SpaceToBatchND and BatchToSpaceND.
func blockArgs(c call) (block []int, m margins, total int, err error) {
	x := c.t(0).Shape
	if err := rank("block_shape", c.t(1), 1); err != nil {
		return nil, m, 0, err
	}
	if block, err = c.integers("block_shape", c.t(1)); err != nil {
		return nil, m, 0, err
	}
	if len(x) < 1+len(block) {
		return nil, m, 0, fmt.Errorf("input rank should be >= %d instead of %d", 1+len(block), len(x))
	}
	for _, b := range block {
		if b < 1 || b > 1<<20 {
			return nil, m, 0, fmt.Errorf("block_shape %v: expected positive sizes", block)
		}
	}
	if total, err = elements(block); err != nil {
		return nil, m, 0, err
	}
	m, _, err = paddings(c.t(2), x[1:1+len(block)])
	return block, m, total, err
}

// blockBox returns the order [blocks..., batch, cells..., rest...] for the elements of
// a tensor with dimensions [batch, cells·blocks..., rest...].
func blockBox(shape, block []int) (box []int, from stride) {
	steps := contiguous(shape).steps
	box = append(slices.Clone(block), shape[0])
	from.steps = append(slices.Clone(steps[1:1+len(block)]), steps[0])
	for i, b := range block {
		box = append(box, shape[i+1]/b)
		from.steps = append(from.steps, steps[i+1]*b)
	}
	return append(box, shape[1+len(block):]...), stride{steps: append(from.steps, steps[1+len(block):]...)}
}

func spaceToBatch(c call) error {
	block, m, total, err := blockArgs(c)
	if err != nil {
		return err
	}
	t := c.t(0)
	shape := slices.Clone(t.Shape)
	out := []int{shape[0] * total}
	for i, b := range block {
		if shape[i+1] += m.before[i] + m.after[i]; shape[i+1]%b != 0 {
			return fmt.Errorf("padded_shape[%d]=%d is not divisible by block_shape[%d]=%d", i, shape[i+1], i, b)
		}
		out = append(out, shape[i+1]/b)
	}
	padded, err := c.alloc(t.DType, shape...)
	if err != nil {
		return err
	}
	to := contiguous(shape)
	for i, b := range m.before {
		to.base += b * to.steps[i+1]
	}
	if err := copyBox(t.Shape, padded, to, t, contiguous(t.Shape)); err != nil {
		return err
	}
	box, from := blockBox(shape, block)
	if err := c.box(padded, box, from); err != nil {
		return err
	}
	c.out[0].T.Shape = append(out, shape[1+len(block):]...)
	return nil
}

func batchToSpace(c call) error {
	block, m, total, err := blockArgs(c)
	if err != nil {
		return err
	}
	t := c.t(0)
	if t.Shape[0]%total != 0 {
		return fmt.Errorf("Input batch dimension (%d) is not divisible by product of block sizes (%d)", t.Shape[0], total)
	}
	full := slices.Clone(t.Shape)
	full[0] /= total
	kept := slices.Clone(full)
	for i, b := range block {
		full[i+1] *= b
		if kept[i+1] = full[i+1] - m.before[i] - m.after[i]; kept[i+1] < 0 {
			return fmt.Errorf("crops[%d] are larger than the size %d", i, full[i+1])
		}
	}
	whole, err := c.alloc(t.DType, full...)
	if err != nil {
		return err
	}
	box, to := blockBox(full, block)
	if err := copyBox(box, whole, to, t, contiguous(box)); err != nil {
		return err
	}
	from := contiguous(full)
	for i, b := range m.before {
		from.base += b * from.steps[i+1]
	}
	return c.box(whole, kept, from)
}
