package engine

import (
	"errors"
	"fmt"
)

// slot is the part of a larger tensor, along one axis, that holds a smaller one: [outer, at:at+size, inner].
type slot struct {
	m    *mover
	axis int
}

// place sets the walk over size rows of the large tensor's axis, from row at on.
func (s *slot) place(large []int, at, size int) {
	inner := 1
	for _, n := range large[s.axis+1:] {
		inner *= n
	}
	outer := 1
	for _, n := range large[:s.axis] {
		outer *= n
	}
	s.m.walk.reset(at * inner)
	s.m.walk.add(outer, large[s.axis]*inner)
	s.m.walk.add(size*inner, 1)
}

// slotted makes a step that copies between parts of a large value along an axis and small values. size returns the rows
// of the axis that a small value takes.
func slotted(c *binding, large *value, small []*value, axis int, into bool, size func(v *value) int) (runFunc, error) {
	slots := make([]*slot, len(small))
	for i, v := range small {
		if err := errors.Join(checkSame(large, v), checkPart(large, v, axis)); err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		m, err := newMover(v, large, into)
		if err != nil {
			return nil, err
		}
		slots[i] = &slot{m, axis}
	}
	c.onBatch = func() error {
		at := 0
		for i, v := range small {
			n := size(v)
			if v.n*large.dims[axis] != large.n*n {
				return fmt.Errorf("part %d of shape %v does not fit %v along axis %d", i, v.dims, large.dims, axis)
			}
			slots[i].place(large.dims, at, n)
			at += n
		}
		if at != large.dims[axis] {
			return fmt.Errorf("the parts take %d of the %d rows of axis %d", at, large.dims[axis], axis)
		}
		return nil
	}
	return func() error {
		for _, s := range slots {
			s.m.run()
		}
		return nil
	}, nil
}

// checkPart fails unless small has the shape of large, except that the axis has another size or is missing.
func checkPart(large, small *value, axis int) error {
	l, s := large.typ.Shape.Dims, small.typ.Shape.Dims
	if len(s) == len(l) {
		return checkShape("part", small, l[:axis], s[axis:axis+1], l[axis+1:])
	}
	return checkShape("part", small, l[:axis], l[axis+1:])
}

// alongAxis returns the size function for parts that all keep the axis.
func alongAxis(large *value, parts []*value, axis int) (func(v *value) int, error) {
	for i, v := range parts {
		if len(v.dims) != len(large.dims) {
			return nil, fmt.Errorf("part %d: shape %v does not fit %v", i, v.typ.Shape, large.typ.Shape)
		}
	}
	return func(v *value) int { return v.dims[axis] }, nil
}

func compileConcat(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	parts, out := c.in[:len(c.in)-1], c.out[0]
	axis, err := c.axis(len(parts), len(out.dims))
	if err != nil {
		return nil, err
	}
	size, err := alongAxis(out, parts, axis)
	if err != nil {
		return nil, err
	}
	return slotted(c, out, parts, axis, true, size)
}

func one(*value) int { return 1 }

func compilePack(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	axis, err := normalAxis(c.node.Int("axis", 0), len(c.out[0].dims))
	if err != nil {
		return nil, err
	}
	return slotted(c, c.out[0], c.in, axis, true, one)
}

func compileUnpack(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	axis, err := normalAxis(c.node.Int("axis", 0), len(c.in[0].dims))
	if err != nil {
		return nil, err
	}
	return slotted(c, c.in[0], c.out, axis, false, one)
}

func compileSplit(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	axis, err := c.axis(0, len(c.in[1].dims))
	if err != nil {
		return nil, err
	}
	size, err := alongAxis(c.in[1], c.out, axis)
	if err != nil {
		return nil, err
	}
	return slotted(c, c.in[1], c.out, axis, false, size)
}
