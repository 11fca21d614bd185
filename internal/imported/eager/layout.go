package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// layoutOps move elements by position.
var layoutOps = map[*ops.Def]maker{
	ops.Pack:              pack,
	ops.Unpack:            unpack,
	ops.ConcatV2:          plain(func(c call) error { return concat(c, c.in[:len(c.in)-1], len(c.in)-1) }),
	ops.Concat:            plain(func(c call) error { return concat(c, c.in[1:], 0) }),
	ops.Split:             split,
	ops.SplitV:            splitV,
	ops.Slice:             plain(slice),
	ops.StridedSlice:      stridedSlice,
	ops.Transpose:         plain(transpose),
	ops.Tile:              plain(tile),
	ops.BroadcastTo:       plain(broadcastTo),
	ops.ReverseV2:         plain(reverse),
	ops.Pad:               plain(pad),
	ops.PadV2:             plain(pad),
	ops.MirrorPad:         mirrorPad,
	ops.SpaceToDepth:      spaceToDepth,
	ops.DepthToSpace:      depthToSpace,
	ops.InvertPermutation: plain(invertPermutation),
}

// sameType fails unless all values have the first one's type.
func sameType(in []Value) error {
	for i, v := range in {
		if v.T.DType != in[0].T.DType {
			return fmt.Errorf("input %d: expected type %v, got %v", i, in[0].T.DType, v.T.DType)
		}
	}
	return nil
}

func pack(s *site) (kernel, error) {
	at := s.node.Int("axis", 0)
	return func(c call) error {
		if len(c.in) == 0 {
			return fmt.Errorf("expected at least one input")
		}
		first := c.t(0)
		k, err := axis("axis", at, len(first.Shape)+1)
		if err != nil {
			return err
		}
		parts := make([]Value, len(c.in))
		for i := range c.in {
			if !slices.Equal(c.t(i).Shape, first.Shape) {
				return fmt.Errorf("shapes of all inputs must match: values[0].shape = %v != values[%d].shape = %v", first.Shape, i, c.t(i).Shape)
			}
			parts[i].T = reshaped(c.t(i), slices.Insert(slices.Clone(c.t(i).Shape), k, 1)...)
		}
		return join(c, parts, k)
	}, nil
}

// concat joins parts along the dimension given by input `at`.
func concat(c call, parts []Value, at int) error {
	if len(parts) == 0 {
		return fmt.Errorf("expected at least one tensor")
	}
	k, err := axisOf("axis", c.t(at), len(parts[0].T.Shape))
	if err != nil {
		return err
	}
	return join(c, parts, k)
}

// join concatenates tensors along dimension k into output 0.
func join(c call, parts []Value, k int) error {
	if err := sameType(parts); err != nil {
		return err
	}
	first := parts[0].T
	shape := slices.Clone(first.Shape)
	shape[k] = 0
	for i, p := range parts {
		got := p.T.Shape
		if len(got) != len(shape) || !slices.Equal(got[:k], shape[:k]) || !slices.Equal(got[k+1:], shape[k+1:]) {
			return fmt.Errorf("dimensions of inputs should match but for dimension %d: shape[0] = %v vs. shape[%d] = %v", k, first.Shape, i, got)
		}
		shape[k] += got[k]
	}
	out, err := c.overwritten(0, first.DType, shape...)
	if err != nil || out.Len() == 0 {
		return err
	}
	outer, inner := product(shape[:k]), product(shape[k+1:])
	at := 0
	for _, p := range parts {
		n := p.T.Shape[k] * inner
		if first.DType != tensor.String {
			size := first.DType.Size()
			kernels.PutColumns(out.Bytes, p.T.Bytes, kernels.Columns{From: at * size, Size: n * size, Row: shape[k] * inner * size})
		} else {
			for o := range outer {
				copyCells(out, o*shape[k]*inner+at, p.T, o*n, n)
			}
		}
		at += n
	}
	return nil
}

func unpack(s *site) (kernel, error) {
	s.outputs = s.count("num", 0, 1<<16)
	at := s.node.Int("axis", 0)
	return func(c call) error {
		t := c.t(0)
		k, err := axis("axis", at, len(t.Shape))
		if err != nil {
			return err
		}
		if t.Shape[k] != len(c.out) {
			return fmt.Errorf("expected %d slices along dimension %d, got shape %v", len(c.out), k, t.Shape)
		}
		sizes := slices.Repeat([]int{1}, len(c.out))
		if err := cut(c, t, k, sizes); err != nil {
			return err
		}
		for i := range c.out {
			c.out[i].T = reshaped(c.out[i].T, slices.Delete(slices.Clone(c.out[i].T.Shape), k, k+1)...)
		}
		return nil
	}, nil
}

// cut makes one output per size along dimension k. Parts along the first
// dimension alias t.
func cut(c call, t *tensor.Tensor, k int, sizes []int) error {
	outer, inner := product(t.Shape[:k]), product(t.Shape[k+1:])
	at := 0
	for i, n := range sizes {
		shape := slices.Clone(t.Shape)
		shape[k] = n
		if outer == 1 {
			c.set(i, rows(t, shape, at*inner, n*inner))
			at += n
			continue
		}
		out, err := c.output(i, t.DType, shape...)
		if err != nil {
			return err
		}
		for o := range outer {
			copyCells(out, o*n*inner, t, (o*t.Shape[k]+at)*inner, n*inner)
		}
		at += n
	}
	return nil
}

// rows returns n elements of t from index i, as a view of the given shape.
func rows(t *tensor.Tensor, shape []int, i, n int) *tensor.Tensor {
	v := &tensor.Tensor{DType: t.DType, Shape: shape}
	if t.DType == tensor.String {
		v.Strings = t.Strings[i : i+n]
	} else {
		v.Bytes = t.Bytes[i*t.DType.Size() : (i+n)*t.DType.Size()]
	}
	return v
}

func split(s *site) (kernel, error) {
	n := s.count("num_split", 0, 1<<16)
	if n == 0 {
		s.fail("attribute num_split: expected at least 1")
		return nil, s.err
	}
	s.outputs = n
	return func(c call) error {
		t := c.t(1)
		if err := rank("split_dim", c.t(0), 0); err != nil {
			return err
		}
		k, err := axisOf("split_dim", c.t(0), len(t.Shape))
		if err != nil {
			return err
		}
		if t.Shape[k]%n != 0 {
			return fmt.Errorf("number of ways to split should evenly divide the split dimension, but got split_dim %d (size = %d) and num_split %d", k, t.Shape[k], n)
		}
		return cut(c, t, k, slices.Repeat([]int{t.Shape[k] / n}, n))
	}, nil
}

func splitV(s *site) (kernel, error) {
	s.outputs = s.count("num_split", 0, 1<<16)
	return func(c call) error {
		t := c.t(0)
		k, err := axisOf("split_dim", c.t(2), len(t.Shape))
		if err != nil {
			return err
		}
		sizes, err := c.vector("size_splits", c.t(1))
		if err != nil {
			return err
		}
		sum, free := 0, -1
		for i, n := range sizes {
			switch {
			case n == -1 && free < 0:
				free = i
			case n < 0 || n > t.Shape[k]:
				return fmt.Errorf("size_splits %v: expected sizes up to %d, and at most one -1", sizes, t.Shape[k])
			default:
				sum += n
			}
		}
		if free >= 0 && sum <= t.Shape[k] {
			sizes[free] = t.Shape[k] - sum
			sum = t.Shape[k]
		}
		if sum != t.Shape[k] || len(sizes) != len(c.out) {
			return fmt.Errorf("size_splits %v: expected %d sizes with sum %d", sizes, len(c.out), t.Shape[k])
		}
		return cut(c, t, k, sizes)
	}, nil
}

func slice(c call) error {
	t := c.t(0)
	begin, err := c.vector("begin", c.t(1))
	if err != nil {
		return err
	}
	sizes, err := c.vector("size", c.t(2))
	if err != nil {
		return err
	}
	if len(begin) != len(t.Shape) || len(sizes) != len(t.Shape) {
		return fmt.Errorf("expected begin and size of %d elements, got %d and %d", len(t.Shape), len(begin), len(sizes))
	}
	from := contiguous(t.Shape)
	for i, b := range begin {
		if sizes[i] == -1 {
			sizes[i] = t.Shape[i] - b
		}
		if b < 0 || b > t.Shape[i] || sizes[i] < 0 || sizes[i] > t.Shape[i]-b {
			return fmt.Errorf("dimension %d of size %d: begin %d and size %d are out of range", i, t.Shape[i], b, sizes[i])
		}
		from.base += b * from.steps[i]
	}
	return c.box(t, sizes, from)
}

// box sets output 0 to a box of t's elements.
func (c call) box(t *tensor.Tensor, shape []int, from stride) error {
	out, err := c.output(0, t.DType, shape...)
	if err != nil {
		return err
	}
	return copyBox(shape, out, contiguous(shape), t, from)
}

func transpose(c call) error {
	t := c.t(0)
	perm, err := c.vector("perm", c.t(1))
	if err != nil {
		return err
	}
	if len(perm) != len(t.Shape) {
		return fmt.Errorf("expected a permutation of %d dimensions, got %v", len(t.Shape), perm)
	}
	in := contiguous(t.Shape)
	from := stride{steps: make([]int, len(perm))}
	shape, seen := make([]int, len(perm)), make([]bool, len(perm))
	for i, p := range perm {
		k, err := axis("perm", p, len(perm))
		if err != nil {
			return err
		}
		if seen[k] {
			return fmt.Errorf("perm %v has %d twice", perm, k)
		}
		seen[k], shape[i], from.steps[i] = true, t.Shape[k], in.steps[k]
	}
	return c.box(t, shape, from)
}

func tile(c call) error {
	t := c.t(0)
	times, err := c.vector("multiples", c.t(1))
	if err != nil {
		return err
	}
	if len(times) != len(t.Shape) {
		return fmt.Errorf("expected multiples of %d elements, got %d", len(t.Shape), len(times))
	}
	shape := make([]int, len(times))
	in := contiguous(t.Shape)
	var fine []int
	var from stride
	for i, m := range times {
		if m < 0 || t.Shape[i] > 0 && m > 1<<40/t.Shape[i] {
			return fmt.Errorf("multiples %v: expected numbers that are not negative and less large", times)
		}
		shape[i] = m * t.Shape[i]
		fine = append(fine, m, t.Shape[i])
		from.steps = append(from.steps, 0, in.steps[i])
	}
	out, err := c.output(0, t.DType, shape...)
	if err != nil || len(out.Bytes)+len(out.Strings) == 0 {
		return err
	}
	return copyBox(fine, out, contiguous(fine), t, from)
}

// spread returns the strides of a tensor that is broadcast to a shape.
func spread(in, shape []int) stride {
	s := contiguous(in)
	skip := len(shape) - len(in)
	from := stride{steps: make([]int, len(shape))}
	for i, d := range in {
		if d != 1 {
			from.steps[skip+i] = s.steps[i]
		}
	}
	return from
}

func broadcastTo(c call) error {
	t := c.t(0)
	shape, err := c.vector("shape", c.t(1))
	if err != nil {
		return err
	}
	if _, err := elements(shape); err != nil {
		return err
	}
	got, err := broadcastShape(t.Shape, shape)
	if err != nil || !slices.Equal(got, shape) {
		return fmt.Errorf("unable to broadcast tensor of shape %v to tensor of shape %v", t.Shape, shape)
	}
	return c.box(t, shape, spread(t.Shape, shape))
}

func reverse(c call) error {
	t := c.t(0)
	if len(t.Shape) == 0 { // TensorFlow ignores the axes then
		c.set(0, t)
		return nil
	}
	dims, err := c.vector("axis", c.t(1))
	if err != nil {
		return err
	}
	if t.Len() == 0 { // and their values
		c.set(0, t)
		return nil
	}
	from := contiguous(t.Shape)
	seen := make([]bool, len(t.Shape))
	for _, d := range dims {
		k, err := axis("axis", d, len(t.Shape))
		if err != nil {
			return err
		}
		if seen[k] {
			return fmt.Errorf("axis %d specified more than once", k)
		}
		seen[k] = true
		from.base += (t.Shape[k] - 1) * from.steps[k]
		from.steps[k] = -from.steps[k]
	}
	return c.box(t, t.Shape, from)
}

func invertPermutation(c call) error {
	p, err := c.vector("x", c.t(0))
	if err != nil {
		return err
	}
	out := slices.Repeat([]int{-1}, len(p))
	for i, v := range p {
		if v < 0 || v >= len(p) || out[v] >= 0 {
			return fmt.Errorf("expected a permutation of %d numbers, got %v", len(p), p)
		}
		out[v] = i
	}
	return c.outputInts(0, c.t(0).DType, out, len(out))
}
