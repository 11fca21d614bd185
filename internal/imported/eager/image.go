package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// imageOps work on images [batch, height, width, channels].
var imageOps = map[*ops.Def]maker{
	ops.FusedBatchNorm:        batchNorm,
	ops.FusedBatchNormV2:      batchNorm,
	ops.FusedBatchNormV3:      batchNorm,
	ops.ResizeBilinear:        resizeBilinear,
	ops.ResizeNearestNeighbor: resizeNearest,
}

// batchNorm normalizes with the given moments. It only sets the outputs that
// inference uses: the others are the moments again.
func batchNorm(s *site) (kernel, error) {
	eps := float64(s.node.Float("epsilon", 1e-4))
	if s.boolean("is_training", true) {
		return s.inLayout(normTraining{eps, float64(s.node.Float("exponential_avg_factor", 1))}.run, 0)
	}
	k := floats(func(c call) error { return normalize[float32](c, eps) }, func(c call) error { return normalize[float64](c, eps) })
	return s.inLayout(k.on(0), 0)
}

func normalize[T float](c call, eps float64) error {
	x := c.t(0)
	if err := sameType(c.in); err != nil {
		return err
	}
	if len(x.Shape) != 4 && len(x.Shape) != 5 {
		return fmt.Errorf("input must be 4 or 5-dimensional, got shape %v", x.Shape)
	}
	n := x.Shape[len(x.Shape)-1]
	for i := 1; i < 5; i++ {
		if len(c.t(i).Shape) != 1 || c.t(i).Shape[0] != n {
			return fmt.Errorf("input %d: expected shape [%d], got %v", i, n, c.t(i).Shape)
		}
		if i > 2 {
			c.set(i-2, c.t(i))
			c.set(i, c.t(i))
		}
	}
	if len(c.out) > 5 {
		c.set(5, tensor.New(x.DType, 0))
	}
	scale, negative := make([]T, n), make([]T, n)
	for j := range n {
		scale[j] = T(float64(tensor.Values[T](c.t(1))[j]) / math.Sqrt(float64(tensor.Values[T](c.t(4))[j])+eps))
		negative[j] = -tensor.Values[T](c.t(3))[j]
	}
	dst, err := outputOf[T](c, 0, x.Shape...)
	if err != nil {
		return err
	}
	if len(dst) == 0 {
		return noMoments(c, n)
	}
	kernels.ScaleShift(dst, tensor.Values[T](x), nil, negative, false) // subtract the mean first: x*scale and mean*scale may be large
	kernels.ScaleShift(dst, dst, scale, tensor.Values[T](c.t(2)), false)
	return nil
}

// scaling maps the pixels of one dimension of the output to pixels of the input.
type scaling struct {
	in, out         int
	corners, halves bool
	divides         bool // divide by the scale, which rounds as ONNX Runtime does; TensorFlow multiplies by its inverse
}

// at returns the position of pixel i of the output.
func (r scaling) at(i int) float32 {
	scale := float32(r.in) / float32(r.out)
	if r.corners && r.out > 1 {
		scale = float32(r.in-1) / float32(r.out-1)
	}
	if r.divides {
		scale = float32(r.out) / float32(r.in)
	}
	switch {
	case r.halves && r.divides:
		return (float32(i)+0.5)/scale - 0.5
	case r.halves:
		return (float32(i)+0.5)*scale - 0.5
	case r.divides:
		return float32(i) / scale
	default:
		return float32(i) * scale
	}
}

// nearest returns the input's pixel for pixel i of the output.
func (r scaling) nearest(i int) int {
	p := r.at(i)
	switch {
	case r.halves:
		p += 0.5
	case r.corners:
		return min(int(math.Round(float64(p))), r.in-1)
	}
	return max(min(int(math.Floor(float64(p))), r.in-1), 0)
}

// resizing checks the inputs of a resize and returns the scalings of height and width.
func resizing(c call, s *site) (h, w scaling, err error) {
	size, err := c.vector("size", c.t(1))
	if err != nil {
		return h, w, err
	}
	x := c.t(0).Shape
	if len(size) != 2 || len(x) != 4 || size[0] < 1 || size[1] < 1 || x[1] < 1 || x[2] < 1 || x[3] < 1 {
		return h, w, fmt.Errorf("expected images [n,h,w,c] with pixels and channels, and a size of 2 positive numbers, got shape %v and %v", x, size)
	}
	corners, halves := s.boolean("align_corners", false), s.boolean("half_pixel_centers", false)
	if corners && halves {
		return h, w, fmt.Errorf("If half_pixel_centers is True, align_corners must be False.")
	}
	divides := s.boolean(ops.Divides, false)
	return scaling{x[1], size[0], corners, halves, divides}, scaling{x[2], size[1], corners, halves, divides}, nil
}

func resizeNearest(s *site) (kernel, error) {
	return func(c call) error {
		h, w, err := resizing(c, s)
		if err != nil {
			return err
		}
		x := c.t(0)
		n, d := x.Shape[0], x.Shape[3]
		out, err := c.output(0, x.DType, n, h.out, w.out, d)
		if err != nil || out.Len() == 0 {
			return err
		}
		for b := range n {
			for i := range h.out {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				for j := range w.out {
					copyCells(out, ((b*h.out+i)*w.out+j)*d, x, ((b*h.in+h.nearest(i))*w.in+w.nearest(j))*d, d)
				}
			}
		}
		return nil
	}, nil
}

// pixel is the position of a pixel in a bilinear resize: between two pixels, at some distance from the first.
type pixel struct {
	lo, hi int
	part   float32
}

func (r scaling) between(i int) pixel {
	p := r.at(i)
	f := float32(math.Floor(float64(p)))
	return pixel{min(max(int(f), 0), r.in-1), min(int(math.Ceil(float64(p))), r.in-1), p - f}
}

func resizeBilinear(s *site) (kernel, error) {
	return func(c call) error {
		h, w, err := resizing(c, s)
		if err != nil {
			return err
		}
		x := c.t(0)
		n, d := x.Shape[0], x.Shape[3]
		y, err := outputOf[float32](c, 0, n, h.out, w.out, d)
		if err != nil || len(y) == 0 {
			return err
		}
		src := x
		if x.DType != tensor.Float32 {
			if src, err = recastTo(c, x, tensor.Float32); err != nil {
				return err
			}
		}
		in := tensor.Values[float32](src)
		for b := range n {
			for i := range h.out {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				p := h.between(i)
				for j := range w.out {
					q := w.between(j)
					row := func(i, j int) []float32 { return in[((b*h.in+i)*w.in+j)*d:] }
					tl, tr, bl, br := row(p.lo, q.lo), row(p.lo, q.hi), row(p.hi, q.lo), row(p.hi, q.hi)
					for k := range d {
						top := tl[k] + (tr[k]-tl[k])*q.part
						bottom := bl[k] + (br[k]-bl[k])*q.part
						y[k] = top + (bottom-top)*p.part
					}
					y = y[d:]
				}
			}
		}
		return nil
	}, nil
}
