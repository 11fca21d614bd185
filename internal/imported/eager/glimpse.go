package eager

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// glimpse crops windows of one size from images.
type glimpse struct {
	version              int
	centered, normalized bool
	noise                string // contents outside the images: zero, uniform or gaussian
	from                 *generator
	high, wide           int
}

func glimpses(version int) maker {
	return func(s *site) (kernel, error) {
		g := glimpse{version: version, centered: s.boolean("centered", true), normalized: s.boolean("normalized", true), noise: s.str("noise", "uniform")}
		uniform := s.boolean("uniform_noise", true)
		switch {
		case uniform && g.noise != "" && g.noise != "uniform":
			return nil, errors.New("The uniform_noise and noise should not be specified at the same time")
		case g.noise == "" && uniform:
			g.noise = "uniform"
		case g.noise == "":
			g.noise = "gaussian"
		}
		switch g.noise {
		case "zero":
		case "uniform", "gaussian":
			g.from = s.generator()
		default:
			return nil, fmt.Errorf("The noise could only be uniform, gaussian, or zero, got %s", g.noise)
		}
		return func(c call) error { return g.run(c) }, nil
	}
}

func (g glimpse) run(c call) error {
	x, offsets := c.t(0), c.t(2)
	if x.DType != tensor.Float32 || len(x.Shape) != 4 {
		return fmt.Errorf("input must be 4-dimensional, got shape %v", x.Shape)
	}
	size, err := vector("size", c.t(1))
	if err != nil {
		return err
	}
	if len(size) != 2 || size[0] < 0 || size[1] < 0 {
		return fmt.Errorf("size: expected a height and a width, got %v", size)
	}
	if offsets.DType != tensor.Float32 || len(offsets.Shape) != 2 || offsets.Shape[0] != x.Shape[0] || offsets.Shape[1] != 2 {
		return fmt.Errorf("offsets: expected shape [%d 2], got %v", x.Shape[0], offsets.Shape)
	}
	g.high, g.wide = size[0], size[1]
	dst, err := outputOf[float32](c, 0, x.Shape[0], g.high, g.wide, x.Shape[3])
	if err != nil || len(dst) == 0 {
		return err
	}
	src, at := tensor.Values[float32](x), tensor.Values[float32](offsets)
	each, window := product(x.Shape[1:]), g.high*g.wide*x.Shape[3]
	for i := range x.Shape[0] {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		y, left := g.corner(at[2*i], x.Shape[1], g.high), g.corner(at[2*i+1], x.Shape[2], g.wide)
		g.cut(dst[i*window:(i+1)*window], src[i*each:(i+1)*each], x.Shape[1:], y, left)
	}
	return nil
}

// corner returns where a window begins on a line of n pixels, clamped to far outside. In version 2, offsets are for
// the windows' centers only if they are both centered and normalized.
func (g glimpse) corner(offset float32, n, window int) int {
	size := float32(n)
	both := g.centered && g.normalized
	if g.normalized {
		offset *= size
	}
	if g.centered && (g.version == 1 || both) {
		offset /= 2
	}
	if g.centered {
		offset += size / 2
	}
	if g.version == 1 || both {
		offset -= float32(window) / 2
	}
	const far = 1 << 40
	if !(offset > -far && offset < far) {
		return far
	}
	return int(offset)
}

// cut copies the part of a window that lies inside an image [h, w, depth]; the rest is noise.
func (g glimpse) cut(dst, src []float32, shape []int, top, left int) {
	h, w, depth := shape[0], shape[1], shape[2]
	if g.from != nil && (top < 0 || left < 0 || top+g.high >= h || left+g.wide >= w) {
		g.fill(dst, src)
	}
	from, to := max(left, 0), min(left+g.wide, w)
	for y := max(top, 0); y < min(top+g.high, h) && from < to; y++ {
		copy(dst[((y-top)*g.wide+from-left)*depth:], src[(y*w+from)*depth:(y*w+to)*depth])
	}
}

// fill fills dst with noise: between the image's extremes, or around its mean.
func (g glimpse) fill(dst, src []float32) {
	stream := g.from.reserve(uint64(len(dst)/4 + 1))
	if len(src) == 0 {
		return
	}
	if g.noise == "uniform" {
		low, high := src[0], src[0]
		for _, v := range src {
			low, high = min(low, v), max(high, v)
		}
		kernels.Uniform(dst, stream)
		for i, v := range dst {
			dst[i] = low + v*(high-low)
		}
		return
	}
	mean, squares := 0.0, 0.0
	for _, v := range src {
		mean += float64(v) / float64(len(src))
	}
	for _, v := range src {
		squares += (float64(v) - mean) * (float64(v) - mean) / float64(len(src))
	}
	kernels.Normal(dst, stream)
	for i, v := range dst {
		dst[i] = float32(mean + float64(v)*math.Sqrt(squares))
	}
}
