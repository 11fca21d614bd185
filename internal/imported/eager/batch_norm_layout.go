package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// inLayout returns the kernel for a node's data_format: k takes the inputs at the given indices, and makes output 0, with
// channels last. Keras's layer normalization has channels first.
func (s *site) inLayout(k kernel, at ...int) (kernel, error) {
	switch f := s.str("data_format", "NHWC"); f {
	case "NHWC", "NDHWC":
		return k, nil
	case "NCHW", "NCDHW":
		return channelsFirst(k, true, at...), nil
	default:
		return nil, fmt.Errorf("data_format %s %w", f, ErrUnsupported)
	}
}

// channelsFirst returns k for images with channels first at the given input indices, and as output 0 if output is set.
func channelsFirst(k kernel, output bool, at ...int) kernel {
	return func(c call) error {
		inner := c
		inner.in = slices.Clone(c.in)
		for _, i := range at {
			moved, err := c.moved(c.t(i), 1, -1)
			if err != nil {
				return err
			}
			inner.in[i].T = moved
		}
		if err := k(inner); err != nil || !output {
			return err
		}
		moved, err := c.moved(c.out[0].T, -1, 1)
		if err == nil {
			c.set(0, moved)
		}
		return err
	}
}

// moved returns t with a dimension moved; -1 is the last one. Tensors that are not images stay.
func (c call) moved(t *tensor.Tensor, from, to int) (*tensor.Tensor, error) {
	rank := len(t.Shape)
	if rank != 4 && rank != 5 {
		return t, nil
	}
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	from, to = (from+rank)%rank, (to+rank)%rank
	perm = slices.Insert(slices.Delete(perm, from, from+1), to, from)
	in, at, shape := contiguous(t.Shape), stride{steps: make([]int, rank)}, make([]int, rank)
	for i, p := range perm {
		shape[i], at.steps[i] = t.Shape[p], in.steps[p]
	}
	c.out = make([]Value, 1)
	err := c.box(t, shape, at)
	return c.out[0].T, err
}
