package inputs

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/tensor"
)

// RandAugmentation is Cubuk et al., "RandAugment" (2020): Ops operations from the paper's list, drawn for each image and applied in
// turn, with torchvision's ranges at a magnitude of 0 to 30. The list: identity, auto contrast, equalize, rotate (up to 30 degrees),
// solarize, color, posterize (down to 4 bits), contrast, brightness, sharpness (factors 1 ± 0.9), shear by x and y (up to 0.3), translate by
// x and y (up to 150/331 of the side). Directions are random, too. Interpolation is nearest neighbour; pixels from outside are black.
type RandAugmentation struct {
	Ops       int   // drawn for each image, for example 2
	Magnitude int   // 0 to 30, for example 9
	Seed      int64 // decides the operations, with the epoch and the row
}

const (
	mostMagnitude    = 30
	defaultMagnitude = 9
	maxRandOps       = 16
)

// RandAugment returns a Mapper that changes every feature of shape [height, width, channels] and type uint8, with 1 or 3 channels. Use it
// before Normalize. It fails if there is no such feature.
func RandAugment(a RandAugmentation) Mapper {
	fits := func(c Column) bool {
		return isImage(c) && c.DType == tensor.Uint8 && (c.Shape[2] == 1 || c.Shape[2] == 3)
	}
	m := columnMap{name: fmt.Sprintf("rand_augment(%d,%d)", a.Ops, a.Magnitude), seed: a.Seed}
	m.plan = func(c Column) (Column, columnFunc, error) {
		if !fits(c) {
			return c, nil, nil
		}
		c.Default = nil // data to predict is not augmented
		return c, func(dst []byte, src *tensor.Tensor, rows Rows) error {
			size := c.Size()
			copy(dst, src.Bytes)
			for i := range len(dst) / size {
				rnd := splitmix.Source(rows.Seed(i))
				im := &byteImage{dst[i*size : (i+1)*size], c.Shape[0], c.Shape[1], c.Shape[2]}
				for range a.Ops {
					randOps[rnd.Intn(len(randOps))](im, float64(a.Magnitude)/mostMagnitude, rnd.Next()>>63 == 1)
				}
			}
			return nil
		}, nil
	}
	out := m.mapper()
	plan := out.Schema
	out.Schema = func(in *Schema) (*Schema, error) {
		if a.Ops < 1 || a.Ops > maxRandOps || a.Magnitude < 0 || a.Magnitude > mostMagnitude {
			return nil, fmt.Errorf("rand_augment: expected 1 to %d operations and a magnitude of 0 to %d, got %d and %d", maxRandOps, mostMagnitude, a.Ops, a.Magnitude)
		}
		for _, c := range in.columns {
			if fits(c) {
				return plan(in)
			}
		}
		return nil, fmt.Errorf("rand_augment: no feature is an image [height, width, 1 or 3] of uint8, before it is scaled: the data has %s", in)
	}
	return out
}

// randOp changes an image with a strength of 0 to 1, in one of two directions if the operation has any.
type randOp func(im *byteImage, strength float64, negative bool)

var randOps = []randOp{
	func(*byteImage, float64, bool) {},
	func(im *byteImage, _ float64, _ bool) { im.autoContrast() },
	func(im *byteImage, _ float64, _ bool) { im.equalize() },
	func(im *byteImage, s float64, neg bool) { im.rotate(signed(30*s, neg) * math.Pi / 180) },
	func(im *byteImage, s float64, _ bool) { im.solarize(255 * (1 - s)) },
	func(im *byteImage, s float64, neg bool) { im.enhance(1+signed(0.9*s, neg), im.grey()) },
	func(im *byteImage, s float64, _ bool) { im.posterize(8 - int(math.Round(4*s))) },
	func(im *byteImage, s float64, neg bool) { im.enhance(1+signed(0.9*s, neg), im.meanGrey()) },
	func(im *byteImage, s float64, neg bool) {
		im.enhance(1+signed(0.9*s, neg), make([]byte, len(im.pixels)))
	},
	func(im *byteImage, s float64, neg bool) { im.enhance(1+signed(0.9*s, neg), im.smooth()) },
	func(im *byteImage, s float64, neg bool) { im.affine([4]float64{1, signed(0.3*s, neg), 0, 1}, 0, 0) },
	func(im *byteImage, s float64, neg bool) { im.affine([4]float64{1, 0, signed(0.3*s, neg), 1}, 0, 0) },
	func(im *byteImage, s float64, neg bool) {
		im.affine([4]float64{1, 0, 0, 1}, math.Trunc(signed(150.0/331*float64(im.w)*s, neg)), 0)
	},
	func(im *byteImage, s float64, neg bool) {
		im.affine([4]float64{1, 0, 0, 1}, 0, math.Trunc(signed(150.0/331*float64(im.h)*s, neg)))
	},
}

func signed(x float64, negative bool) float64 {
	if negative {
		return -x
	}
	return x
}

// byteImage is an image of bytes.
type byteImage struct {
	pixels         []byte
	h, w, channels int
}

// rotate turns the image about its centre.
func (im *byteImage) rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	im.affine([4]float64{cos, -sin, sin, cos}, 0, 0)
}

// affine sets each pixel (x, y), relative to the centre, to the pixel at m (x, y) + (dx, dy).
func (im *byteImage) affine(m [4]float64, dx, dy float64) {
	src := append([]byte(nil), im.pixels...)
	cx, cy := float64(im.w-1)/2, float64(im.h-1)/2
	for i := range im.h {
		for j := range im.w {
			x, y := float64(j)-cx, float64(i)-cy
			u, v := int(math.Floor(m[0]*x+m[1]*y+cx+dx+0.5)), int(math.Floor(m[2]*x+m[3]*y+cy+dy+0.5))
			out := im.pixels[(i*im.w+j)*im.channels:][:im.channels]
			if u < 0 || u >= im.w || v < 0 || v >= im.h {
				clear(out)
				continue
			}
			copy(out, src[(v*im.w+u)*im.channels:])
		}
	}
}

// table replaces each value of a channel by its entry in t.
func (im *byteImage) table(channel int, t *[256]byte) {
	for i := channel; i < len(im.pixels); i += im.channels {
		im.pixels[i] = t[im.pixels[i]]
	}
}

// autoContrast stretches the values of each channel to 0 to 255.
func (im *byteImage) autoContrast() {
	for c := range im.channels {
		low, high := 255, 0
		for i := c; i < len(im.pixels); i += im.channels {
			low, high = min(low, int(im.pixels[i])), max(high, int(im.pixels[i]))
		}
		if high <= low {
			continue
		}
		var t [256]byte
		for v := low; v <= high; v++ {
			t[v] = byte((v - low) * 255 / (high - low))
		}
		im.table(c, &t)
	}
}

// equalize makes the values of each channel about equally frequent, as PIL does.
func (im *byteImage) equalize() {
	for c := range im.channels {
		var count [256]int
		last := 0
		for i := c; i < len(im.pixels); i += im.channels {
			count[im.pixels[i]]++
			last = max(last, int(im.pixels[i]))
		}
		step := (im.h*im.w - count[last]) / 255
		if step == 0 {
			continue
		}
		var t [256]byte
		n := step / 2
		for v := range t {
			t[v] = byte(min(n/step, 255))
			n += count[v]
		}
		im.table(c, &t)
	}
}

// solarize inverts values that are at least threshold.
func (im *byteImage) solarize(threshold float64) {
	for i, v := range im.pixels {
		if float64(v) >= threshold {
			im.pixels[i] = 255 - v
		}
	}
}

// posterize keeps only the highest bits of each value.
func (im *byteImage) posterize(bits int) {
	mask := byte(0xff << (8 - bits))
	for i := range im.pixels {
		im.pixels[i] &= mask
	}
}

// enhance moves each value away from the value in another image, or towards it if the factor is below 1.
func (im *byteImage) enhance(factor float64, from []byte) {
	for i, v := range im.pixels {
		x := float64(from[i]) + factor*(float64(v)-float64(from[i]))
		im.pixels[i] = byte(min(max(x, 0), 255))
	}
}

// grey returns the image without colour, with the weights of ITU-R BT.601.
func (im *byteImage) grey() []byte {
	out := append([]byte(nil), im.pixels...)
	if im.channels == 3 {
		for i := 0; i+2 < len(out); i += 3 {
			g := byte(0.299*float64(out[i]) + 0.587*float64(out[i+1]) + 0.114*float64(out[i+2]) + 0.5)
			out[i], out[i+1], out[i+2] = g, g, g
		}
	}
	return out
}

// meanGrey returns an image whose pixels are all the mean of the grey image.
func (im *byteImage) meanGrey() []byte {
	out, sum := im.grey(), 0
	for _, v := range out {
		sum += int(v)
	}
	mean := byte((sum + len(out)/2) / max(len(out), 1))
	for i := range out {
		out[i] = mean
	}
	return out
}

// smooth returns the image after PIL's smoothing: the mean of each value, weighted 5, and its eight neighbours; edges stay the same.
func (im *byteImage) smooth() []byte {
	out := append([]byte(nil), im.pixels...)
	line := im.w * im.channels
	for i := 1; i < im.h-1; i++ {
		for k := im.channels; k < line-im.channels; k++ {
			at, sum := i*line+k, 4*int(im.pixels[i*line+k])
			for dy := -line; dy <= line; dy += line {
				sum += int(im.pixels[at+dy-im.channels]) + int(im.pixels[at+dy]) + int(im.pixels[at+dy+im.channels])
			}
			out[at] = byte((sum + 6) / 13)
		}
	}
	return out
}
