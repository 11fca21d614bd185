package eager

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// samplingOps sample images between their pixels, and select boxes in them, as ONNX Runtime does.
var samplingOps = map[*ops.Def]maker{ops.RoiAlign: roiAlign, ops.GridSample: gridSample, ops.SelectBoxes: selectBoxes}

// aligning says how regions are cut out of images.
type aligning struct {
	high, wide, samples int
	scale               float64
	maximum, halfPixel  bool
}

// maxSamples bounds the samples per element of a crop in each direction.
const maxSamples = 1 << 12

func roiAlign(s *site) (kernel, error) {
	const most = 1 << 16
	a := aligning{high: s.count("high", 1, most), wide: s.count("wide", 1, most), samples: s.count("samples", 0, maxSamples), scale: float64(s.node.Float("scale", 1)),
		maximum: s.boolean("maximum", false), halfPixel: s.boolean("half_pixel", true)}
	return func(c call) error {
		if err := errors.Join(want("rois", c.t(1), c.t(0).DType), want("batch", c.t(2), tensor.Int64)); err != nil {
			return err
		}
		if c.t(0).DType == tensor.Float64 {
			return alignRegions[float64](c, a)
		}
		return alignRegions[float32](c, a)
	}, nil
}

// alignRegions cuts each region out of all channels.
func alignRegions[T float32 | float64](c call, a aligning) error {
	x, rois, batch := c.t(0), c.t(1), c.t(2)
	if len(x.Shape) != 4 || len(rois.Shape) != 2 || rois.Shape[1] != 4 || len(batch.Shape) != 1 || batch.Shape[0] != rois.Shape[0] {
		return fmt.Errorf("expected images of rank 4, regions [n,4] and images' numbers [n], got shapes %v, %v and %v", x.Shape, rois.Shape, batch.Shape)
	}
	n, channels, size := rois.Shape[0], x.Shape[1], x.Shape[2]*x.Shape[3]
	dst, err := outputOf[T](c, 0, n, channels, a.high, a.wide)
	if err != nil || len(dst) == 0 {
		return err
	}
	src, corners := tensor.Values[T](x), tensor.Values[T](rois)
	for i, image := range tensor.Values[int64](batch) {
		if image < 0 || int(image) >= x.Shape[0] {
			return fmt.Errorf("region %d is of image %d: expected 0 to %d", i, image, x.Shape[0]-1)
		}
		r, err := newRegion(a, corners[4*i:4*i+4], x.Shape[2], x.Shape[3])
		if err != nil {
			return fmt.Errorf("region %d: %w", i, err)
		}
		for ch := range channels {
			from, to := (int(image)*channels+ch)*size, (i*channels+ch)*a.high*a.wide
			if err := r.align(c.ctx, a, src[from:from+size], dst[to:to+a.high*a.wide]); err != nil {
				return err
			}
		}
	}
	return nil
}

// region is a region in pixels.
type region[T float32 | float64] struct {
	top, left, stepY, stepX T // per element of the crop
	nY, nX                  int
	height, width           int // of the image
}

// newRegion scales a region. If no number of samples is given, there is one per pixel.
func newRegion[T float32 | float64](a aligning, corners []T, height, width int) (r region[T], err error) {
	shift, scale := T(0), T(a.scale)
	if a.halfPixel {
		shift = 0.5
	}
	at := func(i int) T { return corners[i]*scale - shift }
	r = region[T]{left: at(0), top: at(1), height: height, width: width}
	wide, high := at(2)-r.left, at(3)-r.top
	if !a.halfPixel {
		wide, high = max(wide, 1), max(high, 1)
	}
	r.stepX, r.stepY = wide/T(a.wide), high/T(a.high)
	r.nX, r.nY = a.samples, a.samples
	if a.samples > 0 {
		return r, nil
	}
	x, y := math.Ceil(float64(r.stepX)), math.Ceil(float64(r.stepY))
	if !(x <= maxSamples && y <= maxSamples) {
		return r, fmt.Errorf("it has %v by %v samples for each element of the crop: expected at most %d", x, y, maxSamples)
	}
	r.nX, r.nY = max(int(x), 0), max(int(y), 0)
	return r, nil
}

// align computes the crop of one channel.
func (r region[T]) align(ctx context.Context, a aligning, src, dst []T) error {
	left := 0 // samples until the next check of the context
	for y := range a.high {
		for x := range a.wide {
			sum, first := T(0), true
			for i := range r.nY {
				if left -= r.nX; left < 0 {
					if err := ctx.Err(); err != nil {
						return err
					}
					left = uninterrupted
				}
				py := r.top + T(y)*r.stepY + (T(i)+0.5)*r.stepY/T(r.nY)
				for k := range r.nX {
					px := r.left + T(x)*r.stepX + (T(k)+0.5)*r.stepX/T(r.nX)
					parts := r.sample(src, py, px)
					switch most := max(parts[0], parts[1], parts[2], parts[3]); {
					case !a.maximum:
						sum += parts[0] + parts[1] + parts[2] + parts[3]
					case first || most > sum:
						sum, first = most, false
					}
				}
			}
			if !a.maximum {
				sum /= T(max(r.nY*r.nX, 1))
			}
			dst[y*a.wide+x] = sum
		}
	}
	return nil
}

// sample returns the weighted values of the four pixels around a position, zeros beyond the image.
func (r region[T]) sample(src []T, y, x T) (parts [4]T) {
	if !(y >= -1 && y <= T(r.height) && x >= -1 && x <= T(r.width)) || len(src) == 0 {
		return parts
	}
	y0, y1, ly := between(y, r.height)
	x0, x1, lx := between(x, r.width)
	return [4]T{(1 - ly) * (1 - lx) * src[y0*r.width+x0], (1 - ly) * lx * src[y0*r.width+x1], ly * (1 - lx) * src[y1*r.width+x0], ly * lx * src[y1*r.width+x1]}
}

// between returns the pixels around a position on an axis, and its distance from the first one.
func between[T float32 | float64](at T, n int) (low, high int, part T) {
	at = max(at, 0)
	low = int(at)
	if low >= n-1 {
		return n - 1, n - 1, 0
	}
	return low, low + 1, at - T(low)
}
