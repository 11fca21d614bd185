package inputs

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/tensor"
)

// painted reports whether pixel values change or images rotate.
func (a Augmentation) painted() bool {
	return a.Rotate != 0 || a.Brightness != 0 || a.Contrast != 0 || a.Saturation != 0 || a.Cutout != 0
}

// more describes the settings of painter, "" if none is set: descriptions without them stay the same.
func (a Augmentation) more() string {
	if !a.painted() {
		return ""
	}
	return fmt.Sprintf(",%v,%v,%v,%v,%d", a.Rotate, a.Brightness, a.Contrast, a.Saturation, a.Cutout)
}

func (a Augmentation) validate(c Column) error {
	for name, x := range map[string]float64{"brightness": a.Brightness, "contrast": a.Contrast, "saturation": a.Saturation} {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("%s must lie in [0, 1], got %v", name, x)
		}
	}
	switch {
	case !(a.Rotate >= 0 && a.Rotate <= 180):
		return fmt.Errorf("rotation must lie in [0, 180] degrees, got %v", a.Rotate)
	case a.Saturation > 0 && c.Shape[2] != 3:
		return fmt.Errorf("saturation needs images of 3 channels, these have %d", c.Shape[2])
	case a.Cutout < 0 || a.Cutout > min(c.Shape[0], c.Shape[1]):
		return fmt.Errorf("the side of cutout must lie in [0, %d], got %d", min(c.Shape[0], c.Shape[1]), a.Cutout)
	}
	return nil
}

// painter changes the pixels of images of one column.
type painter struct {
	a              Augmentation
	h, w, channels int
	dtype          tensor.DType
}

// newPainter returns nil if there is nothing to paint.
func newPainter(a Augmentation, c Column) *painter {
	if !a.painted() {
		return nil
	}
	return &painter{a: a, h: c.Shape[0], w: c.Shape[1], channels: c.Shape[2], dtype: c.DType}
}

// change changes one image, in this order: rotation, brightness, contrast, saturation, cutout.
func (p *painter) change(image []byte, rnd *splitmix.Source) {
	x := p.floats(image)
	if p.a.Rotate > 0 {
		x = p.rotated(x, around(rnd, p.a.Rotate)*math.Pi/180)
	}
	if p.a.Brightness > 0 {
		p.spread(x, float32(1+around(rnd, p.a.Brightness)), make([]float32, p.channels))
	}
	if p.a.Contrast > 0 {
		p.spread(x, float32(1+around(rnd, p.a.Contrast)), p.means(x))
	}
	if p.a.Saturation > 0 {
		saturate(x, float32(1+around(rnd, p.a.Saturation)))
	}
	if side := p.a.Cutout; side > 0 {
		top, left := rnd.Intn(p.h-side+1), rnd.Intn(p.w-side+1)
		for y := top; y < top+side; y++ {
			clear(x[(y*p.w+left)*p.channels:][:side*p.channels])
		}
	}
	p.store(image, x)
}

// around draws a number from -most to most.
func around(rnd *splitmix.Source, most float64) float64 {
	return (float64(rnd.Next()>>11)/(1<<52) - 1) * most
}

func (p *painter) floats(image []byte) []float32 {
	out := make([]float32, p.h*p.w*p.channels)
	if p.dtype == tensor.Float32 {
		copy(out, float32s(image))
		return out
	}
	for i, b := range image {
		out[i] = float32(b)
	}
	return out
}

// store writes pixels back; bytes are rounded and kept from 0 to 255.
func (p *painter) store(image []byte, x []float32) {
	if p.dtype == tensor.Float32 {
		copy(float32s(image), x)
		return
	}
	for i, v := range x {
		image[i] = byte(min(max(v+0.5, 0), 255))
	}
}

// rotated turns an image about its centre, counter-clockwise for angles > 0, with bilinear interpolation.
func (p *painter) rotated(x []float32, angle float64) []float32 {
	out := make([]float32, len(x))
	sin, cos := math.Sincos(angle)
	cy, cx := float64(p.h-1)/2, float64(p.w-1)/2
	for i := range p.h {
		for j := range p.w {
			dy, dx := float64(i)-cy, float64(j)-cx
			p.sample(out[(i*p.w+j)*p.channels:][:p.channels], x, cy+cos*dy+sin*dx, cx+cos*dx-sin*dy)
		}
	}
	return out
}

// sample writes the pixel at fractional coordinates; pixels outside the image are zero.
func (p *painter) sample(out, x []float32, y, at float64) {
	top, left := math.Floor(y), math.Floor(at)
	fy, fx := y-top, at-left
	for k := range 4 {
		i, j := int(top)+k/2, int(left)+k%2
		weight := float32([2]float64{1 - fy, fy}[k/2] * [2]float64{1 - fx, fx}[k%2])
		if i < 0 || i >= p.h || j < 0 || j >= p.w || weight == 0 {
			continue
		}
		for c := range out {
			out[c] += weight * x[(i*p.w+j)*p.channels+c]
		}
	}
}

// means returns the mean of each channel.
func (p *painter) means(x []float32) []float32 {
	sums := make([]float64, p.channels)
	for i, v := range x {
		sums[i%p.channels] += float64(v)
	}
	out := make([]float32, p.channels)
	for c := range out {
		out[c] = float32(sums[c] / float64(p.h*p.w))
	}
	return out
}

// spread multiplies the distance of each value from its channel's centre.
func (p *painter) spread(x []float32, factor float32, centres []float32) {
	for i, v := range x {
		centre := centres[i%p.channels]
		x[i] = centre + factor*(v-centre)
	}
}

// saturate multiplies the distance of each pixel from its grey, by the weights of ITU-R BT.601.
func saturate(x []float32, factor float32) {
	for i := 0; i+2 < len(x); i += 3 {
		grey := 0.299*x[i] + 0.587*x[i+1] + 0.114*x[i+2]
		for c := range 3 {
			x[i+c] = grey + factor*(x[i+c]-grey)
		}
	}
}
