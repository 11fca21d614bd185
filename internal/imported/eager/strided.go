package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// sliceMasks are the bits of a StridedSlice's attributes.
type sliceMasks struct{ begin, end, ellipsis, newAxis, shrink int }

func stridedSlice(s *site) (kernel, error) {
	slice, err := readSlicing(s, 1)
	return func(c call) error {
		t := c.t(0)
		fine, final, from, err := slice.box(c, t.Shape)
		if err != nil {
			return err
		}
		if err := c.box(t, fine, from); err != nil {
			return err
		}
		c.out[0].T.Shape = final
		return nil
	}, err
}

// sliceBox resolves a StridedSlice of a tensor: fine is the box with one
// dimension for each input dimension, and final the shape of the result.
func sliceBox(in []int, spec [3][]int, m sliceMasks) (fine, final []int, from stride, err error) {
	from = contiguous(in)
	k := 0 // dimension of the input
	whole := func() {
		fine, final = append(fine, in[k]), append(final, in[k])
		k++
	}
	n := len(spec[0])
	for i := range n {
		bit := 1 << i
		switch {
		case m.ellipsis&bit != 0:
			later := 0 // entries after the ellipsis that use an input dimension
			for j := i + 1; j < n; j++ {
				if m.newAxis>>j&1 == 0 {
					later++
				}
			}
			for k < len(in)-later {
				whole()
			}
		case m.newAxis&bit != 0:
			final = append(final, 1)
		case k >= len(in):
			return nil, nil, from, fmt.Errorf("index out of range using input dim %d; input has only %d dims", k, len(in))
		default:
			shrink := m.shrink&bit != 0
			e := graph.SliceEntry{Begin: spec[0][i], End: spec[1][i], Stride: spec[2][i], NoBegin: m.begin&bit != 0, NoEnd: m.end&bit != 0, Shrink: shrink}
			first, size, err := e.Resolve(in[k])
			if err != nil {
				return nil, nil, from, fmt.Errorf("dimension %d: %w", k, err)
			}
			fine = append(fine, size)
			if !shrink {
				final = append(final, size)
			}
			from.base += first * from.steps[k]
			if size > 1 {
				from.steps[k] *= e.Stride
			}
			k++
		}
	}
	for k < len(in) {
		whole()
	}
	return fine, final, from, nil
}
