package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// resizeOps resize images by methods other than the bilinear and the nearest pixel.
var resizeOps = map[*ops.Def]maker{
	ops.ScaleAndTranslate:     scaleAndTranslate,
	ops.ScaleAndTranslateGrad: scaleAndTranslateGrad,
	ops.ResizeBicubic:         resizeBicubic,
	ops.ResizeBicubicGrad:     resizeBicubicGrad,
	ops.ResizeArea:            resizeArea,
}

// filter is a resampling kernel: the weight by distance, 0 beyond the radius.
type filter struct {
	radius float32
	weight func(x float32) float32
}

func lanczos(radius float32) filter {
	return filter{radius, func(x float32) float32 {
		switch {
		case x > radius:
			return 0
		case x <= 1e-3:
			return 1
		default:
			const pi = float32(math.Pi)
			a, b := pi*x, pi*x/radius
			return radius * float32(math.Sin(float64(a))) * float32(math.Sin(float64(b))) / (pi * pi * x * x)
		}
	}}
}

// filters are the kernels by their names in tf.image.resize.
var filters = map[string]filter{
	"lanczos1": lanczos(1), "lanczos3": lanczos(3), "lanczos5": lanczos(5),
	"gaussian": {1.5, func(x float32) float32 {
		if x >= 1.5 {
			return 0
		}
		return float32(math.Exp(float64(-2 * x * x)))
	}},
	"box": {1, func(x float32) float32 {
		switch {
		case x < 0.5:
			return 1
		case x == 0.5:
			return 0.5
		}
		return 0
	}},
	"triangle": {1, func(x float32) float32 { return max(1-x, 0) }},
	"keyscubic": {2, func(x float32) float32 {
		switch {
		case x >= 2:
			return 0
		case x >= 1:
			return ((-0.5*x+2.5)*x-4)*x + 2
		}
		return (1.5*x-2.5)*x*x + 1
	}},
	"mitchellcubic": {2, func(x float32) float32 {
		switch {
		case x >= 2:
			return 0
		case x >= 1:
			return ((-7.0/18*x+2)*x-10.0/3)*x + 16.0/9
		}
		return (7.0/6*x-2)*x*x + 8.0/9
	}},
}

// spans are the pixels of one dimension whose weighted sum is a pixel of the result, within the image. A weight of 0 still matters if
// its pixel is not finite.
type spans struct {
	first   []int
	weights [][]float32
}

// resampling is one dimension of a resize.
type resampling struct {
	in, out          int
	scale, translate float32
	antialias        bool
	filter           filter
}

// spans computes the spans of one dimension; c pays.
func (r resampling) spans(c call) (*spans, error) {
	inverse := 1 / r.scale
	shift := -inverse * r.translate
	wide := float32(1)
	if r.antialias {
		wide = max(inverse, 1)
	}
	reach := r.filter.radius * wide
	most := r.in
	if n := 2*float64(math.Ceil(float64(reach))) + 1; n < float64(most) {
		most = int(n)
	}
	if most > 0 && r.out > (1<<40)/most {
		return nil, fmt.Errorf("%w: %d weights of %d pixels", ErrLimit, most, r.out)
	}
	if err := c.room(r.out*(most+8), 4); err != nil {
		return nil, err
	}
	s := &spans{make([]int, r.out), make([][]float32, r.out)}
	all := make([]float32, r.out*most)
	for x := range r.out {
		at := (float32(x)+0.5)*inverse + shift
		s.weights[x] = all[x*most:][:most]
		if !(at >= 0 && at <= float32(r.in)) {
			continue // outside the image
		}
		from := clampIndex(math.Ceil(float64(at-reach-0.5)), r.in)
		to := clampIndex(math.Floor(float64(at+reach-0.5)), r.in) + 1
		total := float32(0)
		for i := from; i < to; i++ {
			d := (float32(i) + 0.5 - at) * (1 / wide)
			s.weights[x][i-from] = r.filter.weight(max(d, -d))
			total += s.weights[x][i-from]
		}
		s.first[x] = from
		factor := 1 / total
		if max(total, -total) < 1000*leastNormal {
			factor = 0
		}
		for i := range s.weights[x] {
			s.weights[x][i] *= factor
		}
		s.weights[x] = s.weights[x][:min(most, r.in-from)]
	}
	return s, nil
}

// leastNormal is the smallest normal number.
const leastNormal = 0x1p-126

func clampIndex(v float64, n int) int { return int(min(max(v, 0), float64(n-1))) }

// extent has the size of the resized dimension, and the products of the sizes before and after it.
type extent struct{ before, in, after int }

// gather sums weighted pixels along one dimension.
func (s *spans) gather(c call, dst, src []float32, d extent) error {
	return s.each(c, d, func(to, from int, v float32) {
		for k, p := range src[from:][:d.after] {
			dst[to+k] += v * p
		}
	})
}

// scatter is the transpose of gather: it adds to the pixels that each one was computed from.
func (s *spans) scatter(c call, dst, src []float32, d extent) error {
	return s.each(c, d, func(from, to int, v float32) {
		for k, p := range src[from:][:d.after] {
			dst[to+k] += v * p
		}
	})
}

// uninterrupted is the number of products between two checks of the request's context.
const uninterrupted = 1 << 12

// each calls f with the index of a pixel of the result, the index of one it is computed from, and the weight. It ends with the request.
func (s *spans) each(c call, d extent, f func(result, of int, weight float32)) error {
	left := 0
	for b := range d.before {
		for x, w := range s.weights {
			if left -= len(w) * d.after; left < 0 {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				left = uninterrupted
			}
			for i, v := range w {
				f((b*len(s.weights)+x)*d.after, (b*d.in+s.first[x]+i)*d.after, v)
			}
		}
	}
	return nil
}

// plane has the resamplings of height and width.
type plane struct{ h, w resampling }

// translated reads the scale and translation of both dimensions.
func translated(s *site, c call, scale, shift *tensor.Tensor) (p plane, err error) {
	name := s.str("kernel_type", "lanczos3")
	f, ok := filters[name]
	if !ok {
		return p, fmt.Errorf("Unrecognized kernel type: %s", name)
	}
	for i, t := range []*tensor.Tensor{scale, shift} {
		if t.DType != tensor.Float32 || len(t.Shape) != 1 || t.Shape[0] != 2 {
			return p, fmt.Errorf("%s must be two numbers, got %v of shape %v", []string{"scale", "translation"}[i], t.DType, t.Shape)
		}
	}
	k, t := tensor.Values[float32](scale), tensor.Values[float32](shift)
	if !(k[0] > 0 && k[1] > 0) {
		return p, fmt.Errorf("scale must be greater than zero.")
	}
	a := s.boolean("antialias", true)
	return plane{resampling{scale: k[0], translate: t[0], antialias: a, filter: f}, resampling{scale: k[1], translate: t[1], antialias: a, filter: f}}, nil
}

// spans returns the spans of both dimensions.
func (p plane) spans(c call) (h, w *spans, err error) {
	if h, err = p.h.spans(c); err == nil {
		w, err = p.w.spans(c)
	}
	return h, w, err
}

func scaleAndTranslate(s *site) (kernel, error) {
	return func(c call) error {
		h, w, err := resizing(c, s)
		if err != nil {
			return err
		}
		p, err := translated(s, c, c.t(2), c.t(3))
		if err != nil {
			return err
		}
		p.h.in, p.h.out, p.w.in, p.w.out = h.in, h.out, w.in, w.out
		rows, columns, err := p.spans(c)
		if err != nil {
			return err
		}
		n, d := c.t(0).Shape[0], c.t(0).Shape[3]
		y, err := outputOf[float32](c, 0, n, h.out, w.out, d)
		if err != nil || len(y) == 0 {
			return err
		}
		src, err := recastTo(c, c.t(0), tensor.Float32)
		if err != nil {
			return err
		}
		between, err := c.alloc(tensor.Float32, n, h.out, w.in, d)
		if err != nil {
			return err
		}
		if err := rows.gather(c, tensor.Values[float32](between), tensor.Values[float32](src), extent{n, h.in, w.in * d}); err != nil {
			return err
		}
		return columns.gather(c, y, tensor.Values[float32](between), extent{n * h.out, w.in, d})
	}, nil
}

func scaleAndTranslateGrad(s *site) (kernel, error) {
	return func(c call) error {
		g, x := c.t(0), c.t(1)
		if err := gradients4(g, x); err != nil {
			return err
		}
		p, err := translated(s, c, c.t(2), c.t(3))
		if err != nil {
			return err
		}
		p.h.in, p.h.out, p.w.in, p.w.out = x.Shape[1], g.Shape[1], x.Shape[2], g.Shape[2]
		rows, columns, err := p.spans(c)
		if err != nil {
			return err
		}
		n, d := g.Shape[0], g.Shape[3]
		dx, err := outputOf[float32](c, 0, x.Shape...)
		if err != nil || len(dx) == 0 {
			return err
		}
		between, err := c.alloc(tensor.Float32, n, p.h.in, p.w.out, d)
		if err != nil {
			return err
		}
		if err := rows.scatter(c, tensor.Values[float32](between), tensor.Values[float32](g), extent{n, p.h.in, p.w.out * d}); err != nil {
			return err
		}
		return columns.scatter(c, dx, tensor.Values[float32](between), extent{n * p.h.in, p.w.in, d})
	}, nil
}

// gradients4 checks gradients of resized images against the images.
func gradients4(g, x *tensor.Tensor) error {
	if g.DType != tensor.Float32 || len(g.Shape) != 4 || len(x.Shape) != 4 || g.Shape[0] != x.Shape[0] || g.Shape[3] != x.Shape[3] ||
		min(g.Shape[1], g.Shape[2], g.Shape[3], x.Shape[1], x.Shape[2]) < 1 {
		return fmt.Errorf("expected gradients and images [n,h,w,c] with pixels, got %v of shape %v and shape %v", g.DType, g.Shape, x.Shape)
	}
	return nil
}
