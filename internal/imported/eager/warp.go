package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// warpOps transform images, cut glimpses out of them, and draw boxes on them.
var warpOps = map[*ops.Def]maker{
	ops.ImageProjectiveTransformV2: projective,
	ops.ImageProjectiveTransformV3: projective,
	ops.ExtractGlimpse:             glimpses(1),
	ops.ExtractGlimpseV2:           glimpses(2),
	ops.DrawBoundingBoxes:          drawBoxes,
	ops.DrawBoundingBoxesV2:        drawBoxes,
}

// inside maps a coordinate on a line of n pixels, which may be beyond its ends, to the coordinate to read.
type inside func(x float32, n int) float32

// insides are the fill modes beyond the ends of a line.
var insides = map[string]inside{
	"CONSTANT": func(x float32, _ int) float32 { return x },
	"NEAREST":  clampLine,
	"REFLECT":  reflectLine,
	"WRAP":     wrapLine,
}

func clampLine(x float32, n int) float32 { return min(max(x, 0), float32(n-1)) }

// reflectLine extends abcd to dcba|abcd|dcba.
func reflectLine(x float32, n int) float32 {
	last, twice := float32(n-1), float32(2*n)
	switch {
	case n <= 1:
		return clampLine(0, n)
	case x < 0:
		x += twice * truncated32(-x/twice)
		if x < float32(-n) {
			x += twice
		} else {
			x = -x - 1
		}
	case x > last:
		x -= twice * truncated32(x/twice)
		if x >= float32(n) {
			x = twice - x - 1
		}
	}
	return clampLine(x, n)
}

// wrapLine extends abcd to abcd|abcd|abcd.
func wrapLine(x float32, n int) float32 {
	last := float32(n - 1)
	switch {
	case n <= 1:
		return clampLine(0, n)
	case x < 0:
		x += float32(n) * (truncated32(-x/last) + 1)
	case x > last:
		x -= float32(n) * truncated32(x/last)
	}
	return clampLine(x, n)
}

// truncated32 returns the integer part of a number.
func truncated32(x float32) float32 { return float32(math.Trunc(float64(x))) }

// projection transforms one image.
type projection struct {
	h, w, depth int // of the image
	nearest     bool
	fit         inside
}

// at returns the position in the image of a pixel of the output; ok is false if it is at infinity.
func (p *projection) at(m []float32, x, y int) (px, py float32, ok bool) {
	fx, fy := float32(x), float32(y)
	scale := m[6]*fx + m[7]*fy + 1
	if scale == 0 {
		return 0, 0, false
	}
	px = (m[0]*fx + m[1]*fy + m[2]) / scale
	py = (m[3]*fx + m[4]*fy + m[5]) / scale
	return p.fit(px, p.w), p.fit(py, p.h), true
}

// index returns the index of a pixel's first element, or -1 if it is outside the image or NaN.
func (p *projection) index(x, y float32) int {
	if !(x >= 0 && x < float32(p.w) && y >= 0 && y < float32(p.h)) {
		return -1
	}
	return (int(y)*p.w + int(x)) * p.depth
}

func projective(s *site) (kernel, error) {
	p := projection{}
	fit, ok := insides[s.str("fill_mode", "CONSTANT")]
	if !ok {
		s.fail("Invalid mode %s", s.str("fill_mode", ""))
	}
	p.fit = fit
	switch how := s.str("interpolation", ""); how {
	case "NEAREST":
		p.nearest = true
	case "BILINEAR":
	default:
		s.fail("Invalid interpolation %s", how)
	}
	return numbers(projectEach[float32](p), projectEach[float64](p), nil, nil, projectEach[int32](p), projectEach[int64](p), projectEach[uint8](p), nil, nil, nil).on(0), nil
}

func projectEach[T number](p projection) kernel {
	return func(c call) error {
		images, transforms := c.t(0), c.t(1)
		if len(images.Shape) != 4 {
			return fmt.Errorf("input images must have rank 4, got shape %v", images.Shape)
		}
		if transforms.DType != tensor.Float32 || len(transforms.Shape) != 2 || transforms.Shape[1] != 8 || transforms.Shape[0] != 1 && transforms.Shape[0] != images.Shape[0] {
			return fmt.Errorf("Input transform should be num_images x 8 or 1 x 8, got shape %v", transforms.Shape)
		}
		size, err := vector("output_shape", c.t(2))
		if err != nil {
			return err
		}
		if c.t(2).DType != tensor.Int32 || len(size) != 2 || size[0] <= 0 || size[1] <= 0 {
			return fmt.Errorf("output_shape: expected two positive int32, got %v", size)
		}
		var fill T
		if len(c.in) > 3 {
			if t := c.t(3); t.DType != tensor.Float32 || len(t.Shape) != 0 {
				return fmt.Errorf("fill_value must be a scalar, got shape %v", t.Shape)
			}
			fill = convertNumber[T](tensor.Values[float32](c.t(3))[0])
		}
		p := p
		p.h, p.w, p.depth = images.Shape[1], images.Shape[2], images.Shape[3]
		dst, err := outputOf[T](c, 0, images.Shape[0], size[0], size[1], p.depth)
		if err != nil || len(dst) == 0 {
			return err
		}
		src, each, m := tensor.Values[T](images), p.h*p.w*p.depth, tensor.Values[float32](transforms)
		for i := range images.Shape[0] {
			own := m[:8]
			if transforms.Shape[0] > 1 {
				own = m[8*i:]
			}
			for y := range size[0] {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				row := dst[(i*size[0]+y)*size[1]*p.depth:][:size[1]*p.depth]
				for x := range size[1] {
					projectPixel(&p, row[x*p.depth:(x+1)*p.depth], src[i*each:(i+1)*each], own, x, y, fill)
				}
			}
		}
		return nil
	}
}

// projectPixel computes the channels of one pixel.
func projectPixel[T number](p *projection, dst, src []T, m []float32, x, y int, fill T) {
	px, py, ok := p.at(m, x, y)
	read := func(at, ch int) T {
		if at < 0 {
			return fill
		}
		return src[at+ch]
	}
	if !ok {
		for ch := range dst {
			dst[ch] = fill
		}
		return
	}
	if p.nearest {
		at := p.index(float32(math.Round(float64(px))), float32(math.Round(float64(py))))
		for ch := range dst {
			dst[ch] = read(at, ch)
		}
		return
	}
	x0, y0 := float32(math.Floor(float64(px))), float32(math.Floor(float64(py)))
	x1, y1 := x0+1, y0+1
	a, b, d, e := p.index(x0, y0), p.index(x1, y0), p.index(x0, y1), p.index(x1, y1)
	for ch := range dst {
		low := (x1-px)*float32(read(a, ch)) + (px-x0)*float32(read(b, ch))
		high := (x1-px)*float32(read(d, ch)) + (px-x0)*float32(read(e, ch))
		dst[ch] = convertNumber[T]((y1-py)*low + (py-y0)*high)
	}
}

// convertNumber converts to T. For integers, it rounds toward 0 and clips to int64; NaN becomes 0.
func convertNumber[T number](v float32) T {
	var one T = 1
	if one/2 != 0 { // T is a float
		return T(v)
	}
	switch {
	case v != v:
		return 0
	case float64(v) < -9.2e18:
		v = -9.2e18
	case float64(v) > 9.2e18:
		v = 9.2e18
	}
	return T(int64(v))
}
