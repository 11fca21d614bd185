package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// margins are the numbers of elements before and after each dimension.
type margins struct{ before, after []int }

func paddings(t *tensor.Tensor, shape []int) (margins, []int, error) {
	var m margins
	v, err := integers("paddings", t)
	if err != nil {
		return m, nil, err
	}
	if len(t.Shape) != 2 || t.Shape[0] != len(shape) || t.Shape[1] != 2 {
		return m, nil, fmt.Errorf("paddings: expected shape [%d,2], got %v", len(shape), t.Shape)
	}
	out := slices.Clone(shape)
	for i := range shape {
		if v[2*i] < 0 || v[2*i+1] < 0 || v[2*i] > 1<<40 || v[2*i+1] > 1<<40 {
			return m, nil, fmt.Errorf("paddings must be non-negative and less large: %d %d", v[2*i], v[2*i+1])
		}
		m.before, m.after = append(m.before, v[2*i]), append(m.after, v[2*i+1])
		out[i] += v[2*i] + v[2*i+1]
	}
	return m, out, nil
}

func pad(c call) error {
	t := c.t(0)
	m, shape, err := paddings(c.t(1), t.Shape)
	if err != nil {
		return err
	}
	out, err := c.output(0, t.DType, shape...)
	if err != nil {
		return err
	}
	if len(c.in) == 3 {
		if c.t(2).DType != t.DType || len(c.t(2).Shape) != 0 {
			return fmt.Errorf("constant_values: expected a scalar of type %v, got %v of shape %v", t.DType, c.t(2).DType, c.t(2).Shape)
		}
		fillCells(out, c.t(2), 0)
	}
	to := contiguous(shape)
	for i, b := range m.before {
		to.base += b * to.steps[i]
	}
	return copyBox(t.Shape, out, to, t, contiguous(t.Shape))
}

// mirrorEdge returns 1 if the mirror leaves out the border, else 0.
func mirrorEdge(s *site) (int, error) {
	switch mode := s.str("mode", ""); mode {
	case "REFLECT":
		return 1, nil
	case "SYMMETRIC":
		return 0, nil
	default:
		return 0, fmt.Errorf("attribute mode: expected REFLECT or SYMMETRIC, got %q", mode)
	}
}

func mirrorPad(s *site) (kernel, error) {
	edge, err := mirrorEdge(s)
	return func(c call) error {
		t := c.t(0)
		m, _, err := paddings(c.t(1), t.Shape)
		if err != nil {
			return err
		}
		// One dimension after the other: each mirrors the result so far.
		for k := range t.Shape {
			if err := m.within(k, t.Shape[k], edge); err != nil {
				return err
			}
			if t, err = mirror(c, t, k, edge, m); err != nil {
				return err
			}
		}
		c.set(0, t)
		return nil
	}, err
}

// within fails unless dimension k, of size n, has enough elements for its mirrors.
func (m margins) within(k, n, edge int) error {
	if m.before[k] > n-edge || m.after[k] > n-edge {
		return fmt.Errorf("paddings must be no greater than the dimension size: %d, %d greater than %d", m.before[k], m.after[k], n-edge)
	}
	return nil
}

// mirror pads dimension k.
func mirror(c call, t *tensor.Tensor, k, edge int, m margins) (*tensor.Tensor, error) {
	n, shape := t.Shape[k], slices.Clone(t.Shape)
	shape[k] += m.before[k] + m.after[k]
	out, err := c.alloc(t.DType, shape...)
	if err != nil {
		return nil, err
	}
	outer, inner := product(shape[:k]), product(shape[k+1:])
	for o := range outer {
		for i := range shape[k] {
			copyCells(out, (o*shape[k]+i)*inner, t, (o*n+mirrored(i-m.before[k], n, edge))*inner, inner)
		}
	}
	return out, nil
}

// mirrored returns the index in [0, n) that a mirror shows at i, which may lie outside.
func mirrored(i, n, edge int) int {
	switch {
	case i < 0:
		return -i - 1 + edge
	case i >= n:
		return 2*n - 1 - i - edge
	}
	return i
}

// blocks checks the attributes and input of SpaceToDepth and DepthToSpace.
func blocks(s *site) int {
	b := s.count("block_size", 0, 1<<16)
	if b < 2 {
		s.fail("attribute block_size: expected at least 2")
	}
	if f := s.str("data_format", "NHWC"); f != "NHWC" {
		s.fail("data_format %s %w", f, ErrUnsupported)
	}
	return b
}

func spaceToDepth(s *site) (kernel, error) {
	b := blocks(s)
	return func(c call) error {
		t := c.t(0)
		if len(t.Shape) != 4 || t.Shape[1]%b != 0 || t.Shape[2]%b != 0 {
			return fmt.Errorf("expected rank 4 and sizes that are multiples of %d, got shape %v", b, t.Shape)
		}
		n, h, w, d := t.Shape[0], t.Shape[1]/b, t.Shape[2]/b, t.Shape[3]
		fine := []int{n, h, w, b, b, d}
		in := contiguous([]int{n, h, b, w, b, d}).steps
		out, err := c.output(0, t.DType, n, h, w, b*b*d)
		if err != nil {
			return err
		}
		return copyBox(fine, out, contiguous(fine), t, stride{steps: []int{in[0], in[1], in[3], in[2], in[4], in[5]}})
	}, nil
}

func depthToSpace(s *site) (kernel, error) {
	b := blocks(s)
	return func(c call) error {
		t := c.t(0)
		if len(t.Shape) != 4 || t.Shape[3]%(b*b) != 0 {
			return fmt.Errorf("expected rank 4 and a depth that is a multiple of %d, got shape %v", b*b, t.Shape)
		}
		n, h, w, d := t.Shape[0], t.Shape[1], t.Shape[2], t.Shape[3]/(b*b)
		fine := []int{n, h, b, w, b, d}
		in := contiguous([]int{n, h, w, b, b, d}).steps
		out, err := c.output(0, t.DType, n, h*b, w*b, d)
		if err != nil {
			return err
		}
		return copyBox(fine, out, contiguous(fine), t, stride{steps: []int{in[0], in[1], in[3], in[2], in[4], in[5]}})
	}, nil
}
