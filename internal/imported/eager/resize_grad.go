package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// enlarged checks the gradient of a resize from images of h x w pixels, and returns its scaling in both dimensions.
func enlarged(s *site, g *tensor.Tensor, height, width int) (h, w scaling, err error) {
	corners, halves := s.boolean("align_corners", false), s.boolean("half_pixel_centers", false)
	if corners && halves {
		return h, w, fmt.Errorf("If half_pixel_centers is True, align_corners must be False.")
	}
	if len(g.Shape) != 4 || g.Len() == 0 || height < 1 || width < 1 {
		return h, w, fmt.Errorf("expected gradients [n,h,w,c] with pixels and channels, and images with pixels, got shape %v and [%d,%d]", g.Shape, height, width)
	}
	return scaling{in: height, out: g.Shape[1], corners: corners, halves: halves}, scaling{in: width, out: g.Shape[2], corners: corners, halves: halves}, nil
}

// resizeNearestGrad adds each pixel's gradient to the pixel it was copied from.
func resizeNearestGrad(s *site) (kernel, error) {
	return floats(func(c call) error { return gradOfNearest[float32](c, s) }, func(c call) error { return gradOfNearest[float64](c, s) }).on(0), nil
}

func gradOfNearest[T float](c call, s *site) error {
	size, err := c.vector("size", c.t(1))
	if err != nil || len(size) != 2 {
		return fmt.Errorf("shape_t must have two elements, got shape %v", c.t(1).Shape)
	}
	g := c.t(0)
	h, w, err := enlarged(s, g, size[0], size[1])
	if err != nil {
		return err
	}
	n, d := g.Shape[0], g.Shape[3]
	dx, err := outputOf[T](c, 0, n, h.in, w.in, d)
	if err != nil {
		return err
	}
	src := tensor.Values[T](g)
	for b := range n {
		for i := range h.out {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			for j := range w.out {
				to := dx[((b*h.in+h.nearest(i))*w.in+w.nearest(j))*d:]
				for k, v := range src[:d] {
					to[k] += v
				}
				src = src[d:]
			}
		}
	}
	return nil
}

// resizeBilinearGrad distributes each pixel's gradient to the four pixels around its position.
func resizeBilinearGrad(s *site) (kernel, error) {
	return floats(func(c call) error { return gradOfBilinear[float32](c, s) }, func(c call) error { return gradOfBilinear[float64](c, s) }).on(1), nil
}

func gradOfBilinear[T float](c call, s *site) error {
	g, x := c.t(0), c.t(1)
	if err := want("grads", g, tensor.Float32); err != nil || len(x.Shape) != 4 {
		return fmt.Errorf("original_image must be 4-dimensional and grads float32, got shape %v and %v", x.Shape, g.DType)
	}
	h, w, err := enlarged(s, g, x.Shape[1], x.Shape[2])
	if err != nil {
		return err
	}
	n, d := g.Shape[0], g.Shape[3]
	if x.Shape[0] != n || x.Shape[3] != d {
		return fmt.Errorf("original_image of shape %v does not fit grads of shape %v", x.Shape, g.Shape)
	}
	dx, err := outputOf[T](c, 0, x.Shape...)
	if err != nil {
		return err
	}
	src := tensor.Values[float32](g)
	for b := range n {
		for i := range h.out {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			p := h.between(i)
			for j := range w.out {
				q := w.between(j)
				row := func(i, j int) []T { return dx[((b*h.in+i)*w.in+j)*d:] }
				for k, v := range src[:d] {
					row(p.lo, q.lo)[k] += T(v * (1 - p.part) * (1 - q.part))
					row(p.lo, q.hi)[k] += T(v * (1 - p.part) * q.part)
					row(p.hi, q.lo)[k] += T(v * p.part * (1 - q.part))
					row(p.hi, q.hi)[k] += T(v * p.part * q.part)
				}
				src = src[d:]
			}
		}
	}
	return nil
}
