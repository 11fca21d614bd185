package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// mirrorPadGrad adds the gradients in the mirrors to the elements that they show.
func mirrorPadGrad(s *site) (kernel, error) {
	edge, err := mirrorEdge(s)
	return func(c call) error {
		t := c.t(0)
		v, err := c.integers("paddings", c.t(1))
		if err != nil {
			return err
		}
		if len(c.t(1).Shape) != 2 || c.t(1).Shape[0] != len(t.Shape) || c.t(1).Shape[1] != 2 {
			return fmt.Errorf("paddings: expected shape [%d,2], got %v", len(t.Shape), c.t(1).Shape)
		}
		for k := range t.Shape {
			m := margins{slices.Repeat(v[2*k:2*k+1], k+1), slices.Repeat(v[2*k+1:2*k+2], k+1)}
			n := t.Shape[k]
			if v[2*k] < 0 || v[2*k+1] < 0 || v[2*k] > n || v[2*k+1] > n-v[2*k] {
				return fmt.Errorf("paddings must be non-negative and no greater than the dimension: %d, %d of %d", v[2*k], v[2*k+1], n)
			}
			n -= v[2*k] + v[2*k+1]
			if err := m.within(k, n, edge); err != nil {
				return err
			}
			if t, err = unmirror(c, t, k, v[2*k], n, edge); err != nil {
				return err
			}
		}
		c.set(0, t)
		return nil
	}, err
}

// unmirror shrinks dimension k to n elements; `before` mirrored elements precede them.
func unmirror(c call, t *tensor.Tensor, k, before, n, edge int) (*tensor.Tensor, error) {
	shape := slices.Clone(t.Shape)
	shape[k] = n
	out, err := c.alloc(t.DType, shape...)
	if err != nil || out.Len() == 0 {
		return out, err
	}
	outer, inner := product(shape[:k]), product(shape[k+1:])
	var places []int
	for o := range outer {
		for i := range t.Shape[k] {
			places = append(places, (o*n+mirrored(i-before, n, edge))*inner)
		}
	}
	return out, addition.slices(out, places, t, inner)
}
