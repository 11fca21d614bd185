package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// argmaxAttrs are the attributes of max pools that return the positions of the maxima.
type argmaxAttrs struct {
	w     *window.Attrs
	batch bool         // positions count from the first image, not within each image
	dtype tensor.DType // of the positions
}

func readArgmax(s *site) (a argmaxAttrs, err error) {
	a = argmaxAttrs{batch: s.boolean("include_batch_in_index", false), dtype: s.dtype("Targmax", tensor.Int64)}
	a.w, err = window.Read(s.node)
	return a, err
}

// setPlace sets element i of an int32 or int64 tensor.
func setPlace(t *tensor.Tensor, i, v int) {
	if t.DType == tensor.Int32 {
		tensor.Values[int32](t)[i] = int32(v)
		return
	}
	tensor.Values[int64](t)[i] = int64(v)
}

// maxPoolArgmax pools, and returns the position of each maximum, the first of equal ones. A NaN is the maximum only if it comes first in
// its window.
func maxPoolArgmax(s *site) (kernel, error) {
	a, err := readArgmax(s)
	if err != nil {
		return nil, err
	}
	return numbers(a.pool(poolArgmax[float32]), a.pool(poolArgmax[float64]), a.pool(poolArgmax[int8]), a.pool(poolArgmax[int16]), a.pool(poolArgmax[int32]), a.pool(poolArgmax[int64]),
		a.pool(poolArgmax[uint8]), a.pool(poolArgmax[uint16]), a.pool(poolArgmax[uint32]), a.pool(poolArgmax[uint64])).on(0), nil
}

// pool allocates the positions, and leaves the rest to f.
func (a argmaxAttrs) pool(f func(c call, g kernels.Window, batch bool) error) kernel {
	return func(c call) error {
		g, err := a.w.Pool(c.t(0).Shape)
		if err != nil {
			return err
		}
		if c.t(0).Len() == 0 {
			return fmt.Errorf("tensor_in must not be empty, got shape %v", c.t(0).Shape)
		}
		if _, err := c.output(1, a.dtype, window.Result(g)...); err != nil {
			return err
		}
		return f(c, g, a.batch)
	}
}

func poolArgmax[T number](c call, g kernels.Window, batch bool) error {
	y, err := outputOf[T](c, 0, window.Result(g)...)
	if err != nil || len(y) == 0 {
		return err
	}
	x, places, left := tensor.Values[T](c.t(0)), c.out[1].T, 0
	for i := 0; i < len(y); i += g.InC {
		pixel := i / g.InC
		b, top, leftmost := pixel/(g.OutH*g.OutW), pixel/g.OutW%g.OutH*g.StrideH-g.PadTop, pixel%g.OutW*g.StrideW-g.PadLeft
		first := true
		for h := max(top, 0); h < min(top+g.KH, g.InH); h++ {
			for w := max(leftmost, 0); w < min(leftmost+g.KW, g.InW); w++ {
				if left -= g.InC; left < 0 {
					if err := c.ctx.Err(); err != nil {
						return err
					}
					left = uninterrupted
				}
				from, start := ((b*g.InH+h)*g.InW+w)*g.InC, 0
				if !batch {
					start = b * g.InH * g.InW * g.InC
				}
				for d := range g.InC {
					if first || y[i+d] < x[from+d] {
						y[i+d] = x[from+d]
						setPlace(places, i+d, from+d-start)
					}
				}
				first = false
			}
		}
	}
	return nil
}

// maxPoolGradArgmax adds the gradients at the positions of the maxima.
func maxPoolGradArgmax(s *site) (kernel, error) {
	a, err := readArgmax(s)
	if err != nil {
		return nil, err
	}
	return numbers(a.back(gradArgmax[float32]), a.back(gradArgmax[float64]), a.back(gradArgmax[int8]), a.back(gradArgmax[int16]), a.back(gradArgmax[int32]), a.back(gradArgmax[int64]),
		a.back(gradArgmax[uint8]), a.back(gradArgmax[uint16]), a.back(gradArgmax[uint32]), a.back(gradArgmax[uint64])).on(0), nil
}

// back checks gradients and positions, and leaves the rest to f.
func (a argmaxAttrs) back(f func(c call, places []int, batch bool) error) kernel {
	return func(c call) error {
		x, grad, at := c.t(0), c.t(1), c.t(2)
		if err := sameType(c.in[:2]); err != nil {
			return err
		}
		g, err := a.w.Pool(x.Shape)
		if err != nil {
			return err
		}
		for i, t := range []*tensor.Tensor{grad, at} {
			if err := fits([]string{"grad", "argmax"}[i], t, window.Result(g)); err != nil {
				return err
			}
		}
		places, err := c.integers("argmax", at)
		if err != nil {
			return err
		}
		return f(c, places, a.batch)
	}
}

func gradArgmax[T number](c call, places []int, batch bool) error {
	dx, err := outputOf[T](c, 0, c.t(0).Shape...)
	if err != nil || len(places) == 0 || len(dx) == 0 {
		return err
	}
	dy, images := tensor.Values[T](c.t(1)), c.t(0).Shape[0]
	in, out := len(dx)/images, len(dy)/images
	for i, v := range places {
		start := i / out * in
		at := v
		if !batch {
			at += start
		}
		if at < start || at >= start+in {
			return fmt.Errorf("argmax has %d, which is outside of its image", v)
		}
		dx[at] += dy[i]
	}
	return nil
}
