package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// colourOps change the colors of images, whose last dimension is red, green and blue, or hue, saturation and value.
var colourOps = map[*ops.Def]maker{
	ops.RGBToHSV:         plain(eachPixel(func(p [3]float64, single bool) [3]float64 { return rounded(toHSV(p, single), single) })),
	ops.HSVToRGB:         plain(eachPixel(func(p [3]float64, single bool) [3]float64 { return rounded(fromHSV(p), single) })),
	ops.AdjustSaturation: adjusted("scale", func(p [3]float32, by float32) [3]float32 { return saturated(p, by) }),
	ops.AdjustHue:        adjusted("delta", func(p [3]float32, by float32) [3]float32 { return turned(p, by) }),
	ops.AdjustContrastv2: adjustContrast,
}

func rounded(p [3]float64, single bool) [3]float64 {
	if single {
		for i, v := range p {
			p[i] = float64(float32(v))
		}
	}
	return p
}

// eachPixel is a kernel that maps the three numbers of each pixel. single says that they have at most 32 bits.
func eachPixel(f func(p [3]float64, single bool) [3]float64) kernel {
	return func(c call) error {
		x := c.t(0)
		n := len(x.Shape)
		if n < 1 || x.Shape[n-1] != 3 {
			return fmt.Errorf("input must have 3 channels, got shape %v", x.Shape)
		}
		src, err := recastTo(c, x, tensor.Float64)
		if err != nil {
			return err
		}
		v := tensor.Values[float64](src)
		for i := 0; i < len(v); i += 3 {
			p := f([3]float64(v[i:]), x.DType != tensor.Float64)
			copy(v[i:], p[:])
		}
		out, err := recastTo(c, src, x.DType)
		if err == nil {
			c.set(0, out)
		}
		return err
	}
}

func toHSV(p [3]float64, single bool) [3]float64 {
	r, g, b := p[0], p[1], p[2]
	v := max(r, g, b)
	span := v - min(r, g, b)
	s, h := 0.0, 0.0
	if v > 0 {
		s = span / v
	}
	if span > 0 {
		norm := 1 / (6 * span)
		switch {
		case r == v:
			h = norm * (g - b)
		case g == v:
			h = norm*(b-r) + 2.0/6
		default:
			h = norm*(r-g) + 4.0/6
		}
		if h < 0 {
			h++
		}
	}
	return [3]float64{h, s, v}
}

func fromHSV(p [3]float64) [3]float64 {
	h, s, v := 6*p[0], p[1], p[2]
	unit := func(x float64) float64 { return min(max(x, 0), 1) }
	for i, d := range [3]float64{unit(math.Abs(h-3) - 1), unit(2 - math.Abs(h-2)), unit(2 - math.Abs(h-4))} {
		p[i] = (1 - s + s*d) * v
	}
	return p
}

// adjusted returns the maker of an op that adjusts pixels by a number.
func adjusted(what string, f func(p [3]float32, by float32) [3]float32) maker {
	return func(*site) (kernel, error) {
		return func(c call) error {
			x := c.t(0)
			n := len(x.Shape)
			if n < 3 || x.Shape[n-1] != 3 {
				return fmt.Errorf("input must be at least 3-D, of 3 channels, got shape %v", x.Shape)
			}
			by, err := threshold(c, what, c.t(1))
			if err != nil {
				return err
			}
			src, err := recastTo(c, x, tensor.Float32)
			if err != nil {
				return err
			}
			v := tensor.Values[float32](src)
			for i := 0; i < len(v); i += 3 {
				p := f([3]float32(v[i:]), by)
				copy(v[i:], p[:])
			}
			return c.recastOutput(src, x.DType)
		}, nil
	}
}

// recastOutput sets output 0 to t, converted to another type.
func (c call) recastOutput(t *tensor.Tensor, d tensor.DType) error {
	if t.DType != d {
		var err error
		if t, err = recastTo(c, t, d); err != nil {
			return err
		}
	}
	c.set(0, t)
	return nil
}

// saturated scales the saturation, and clamps it to [0, 1].
func saturated(p [3]float32, by float32) [3]float32 {
	q := toHSV([3]float64{float64(p[0]), float64(p[1]), float64(p[2])}, true)
	q[1] = min(max(q[1]*float64(by), 0), 1)
	chroma := q[1] * q[2]
	return sextant(q[0]*6, chroma, q[2]-chroma)
}

// turned adds to the hue, where 1 is a full turn.
func turned(p [3]float32, by float32) [3]float32 {
	q := toHSV([3]float64{float64(p[0]), float64(p[1]), float64(p[2])}, true)
	low := float64(min(p[0], p[1], p[2]))
	h := math.Mod(q[0]*6+float64(by)*6, 6)
	if h < 0 {
		h += 6
	}
	return sextant(h, q[2]-low, low)
}

// sextant returns the color of a hue in [0, 6).
func sextant(h, chroma, low float64) [3]float32 {
	x := chroma * (1 - math.Abs(math.Mod(h, 2)-1))
	var p [3]float64
	switch int(h) {
	case 0:
		p = [3]float64{chroma, x, 0}
	case 1:
		p = [3]float64{x, chroma, 0}
	case 2:
		p = [3]float64{0, chroma, x}
	case 3:
		p = [3]float64{0, x, chroma}
	case 4:
		p = [3]float64{x, 0, chroma}
	case 5:
		p = [3]float64{chroma, 0, x}
	}
	return [3]float32{float32(p[0] + low), float32(p[1] + low), float32(p[2] + low)}
}

// adjustContrast scales the distance of each pixel to the mean of its image and channel.
func adjustContrast(*site) (kernel, error) {
	return func(c call) error {
		x := c.t(0)
		n := len(x.Shape)
		if n < 3 {
			return fmt.Errorf("input must be at least 3-D, got shape %v", x.Shape)
		}
		by, err := threshold(c, "contrast_factor", c.t(1))
		if err != nil {
			return err
		}
		src, err := recastTo(c, x, tensor.Float32)
		if err != nil {
			return err
		}
		v, d := tensor.Values[float32](src), x.Shape[n-1]
		size := x.Shape[n-3] * x.Shape[n-2] * d
		if len(v) > 0 {
			if err := c.room(d, 8); err != nil {
				return err
			}
			for image := v; len(image) > 0; image = image[size:] {
				contrast(image[:size], make([]float64, d), by)
			}
		}
		return c.recastOutput(src, x.DType)
	}, nil
}

func contrast(image []float32, sums []float64, by float32) {
	d := len(sums)
	for i, v := range image {
		sums[i%d] += float64(v)
	}
	for i, v := range image {
		mean := float32(sums[i%d] / float64(len(image)/d))
		image[i] = (v-mean)*by + mean
	}
}
