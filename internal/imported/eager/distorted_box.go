package eager

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// rectangle is a part of an image, in pixels.
type rectangle struct{ x0, y0, x1, y1 int }

func (r rectangle) area() float32 { return float32((r.x1 - r.x0) * (r.y1 - r.y0)) }

// common returns the intersection of two rectangles.
func (r rectangle) common(o rectangle) rectangle {
	c := rectangle{max(r.x0, o.x0), max(r.y0, o.y0), min(r.x1, o.x1), min(r.y1, o.y1)}
	if c.x0 > c.x1 || c.y0 > c.y1 {
		return rectangle{}
	}
	return c
}

// distortion has the attributes of ops that choose a random part of an image which shows enough of one of its objects.
type distortion struct {
	ratio, area [2]float32
	attempts    int
	whole       bool // use the whole image if there are no objects
}

func distortedBox(s *site) (kernel, error) {
	pair := func(name string, low, high float32) (p [2]float32) {
		v := list[float32](s, name)
		if v == nil {
			v = []float32{low, high}
		}
		if len(v) != 2 || !(v[0] > 0 && v[0] <= v[1]) {
			s.fail("%s must contain two positive numbers in order, got %v", name, v)
			return p
		}
		return [2]float32(v)
	}
	d := distortion{ratio: pair("aspect_ratio_range", 0.75, 1.33), area: pair("area_range", 0.05, 1), attempts: s.count("max_attempts", 100, math.MaxInt32),
		whole: s.boolean("use_image_if_no_bounding_boxes", false)}
	if d.area[1] > 1 {
		s.fail("Max area should be in (0,1], got %v", d.area[1])
	}
	covered := s.node.Float("min_object_covered", 0.1)
	next := func(c call) (kernels.Rand, error) { return seeded(c.t(3)) }
	if s.node.Op != "StatelessSampleDistortedBoundingBox" {
		g := s.generator()
		next = func(call) (kernels.Rand, error) { return g.reserve(uint64(d.attempts)), nil }
	}
	return func(c call) error {
		least := covered
		if len(c.in) > 2 {
			t := c.t(2)
			if t.DType != tensor.Float32 || len(t.Shape) != 0 || !(t.Float(0) >= 0 && t.Float(0) <= 1) {
				return fmt.Errorf("min_object_covered must be a number in [0, 1], got %v of shape %v", t.DType, t.Shape)
			}
			least = float32(t.Float(0))
		}
		size, objects, err := d.objects(c)
		if err != nil {
			return err
		}
		r, err := next(c)
		if err != nil {
			return err
		}
		part, err := d.choose(c.ctx, size, objects, least, r.Words())
		if err != nil {
			return err
		}
		return d.put(c, size, part)
	}, nil
}

// objects reads the image's size, and the boxes of its objects.
func (d distortion) objects(c call) (size rectangle, all []rectangle, err error) {
	t, boxes := c.t(0), c.t(1)
	if len(t.Shape) != 1 || t.Shape[0] != 3 {
		return size, nil, fmt.Errorf("image_size must contain 3 elements: %s", shapeText(t.Shape))
	}
	if size = (rectangle{x1: int(t.Int(1)), y1: int(t.Int(0))}); min(size.x1, size.y1) <= 0 || max(size.x1, size.y1) > math.MaxInt32 {
		return size, nil, fmt.Errorf("Image height and width must be positive, got %d and %d", size.y1, size.x1)
	}
	if boxes.DType != tensor.Float32 || len(boxes.Shape) != 3 || boxes.Shape[2] != 4 {
		return size, nil, fmt.Errorf("bounding boxes must have shape [batch, n, 4], got %s", shapeText(boxes.Shape))
	}
	if err := c.room(boxes.Len(), 8); err != nil {
		return size, nil, err
	}
	v, w, h := tensor.Values[float32](boxes), float32(size.x1), float32(size.y1)
	for i := 0; i < len(v); i += 4 {
		for _, at := range v[i : i+4] {
			if !(at >= 0 && at <= 1) {
				return size, nil, fmt.Errorf("All bounding box coordinates must be in [0.0, 1.0]: %v", at)
			}
		}
		all = append(all, rectangle{int(v[i+1] * w), int(v[i] * h), int(v[i+3] * w), int(v[i+2] * h)})
	}
	if len(all) > 0 {
		return size, all, nil
	}
	if !d.whole {
		return size, nil, errors.New("No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes.")
	}
	return size, []rectangle{size}, nil
}

// choose draws parts until one is acceptable; else it returns the whole image.
func (d distortion) choose(ctx context.Context, image rectangle, objects []rectangle, least float32, words *kernels.Words) (rectangle, error) {
	for range d.attempts {
		if err := ctx.Err(); err != nil {
			return image, err
		}
		ratio := words.Float32()*(d.ratio[1]-d.ratio[0]) + d.ratio[0]
		r, ok := d.part(image, ratio, words)
		if !ok || r.area() < 1 {
			continue
		}
		for _, o := range objects {
			if a := o.area(); a >= 1 && r.common(o).area()/a >= least {
				return r, nil
			}
		}
	}
	return image, nil
}

func toNearest(v float32) int { return int(math.RoundToEven(float64(v))) }

// part draws a part with the given ratio of width to height, whose area is in range.
func (d distortion) part(image rectangle, ratio float32, words *kernels.Words) (rectangle, bool) {
	root := func(area float32) int { return toNearest(float32(math.Sqrt(float64(area / ratio)))) }
	low, high := d.area[0]*float32(image.x1)*float32(image.y1), d.area[1]*float32(image.x1)*float32(image.y1)
	wide := func(h int) int { return toNearest(float32(h) * ratio) }
	h, most := root(low), root(high)
	if wide(most) > image.x1 {
		most = int((float32(image.x1) + 0.5 - 1e-7) / ratio)
		if wide(most) > image.x1 {
			most--
		}
	}
	most = min(most, image.y1)
	if h = min(h, most); h < most {
		h += int(words.Below32(uint32(most - h + 1)))
	}
	area := func() float32 { return float32(wide(h) * h) }
	if area() < low {
		h++
	}
	if area() > high {
		h--
	}
	w := wide(h)
	if a := area(); a < low || a > high || w > image.x1 || h > image.y1 || w <= 0 || h <= 0 {
		return rectangle{}, false
	}
	var x, y int
	if h < image.y1 {
		y = int(words.Below32(uint32(image.y1 - h)))
	}
	if w < image.x1 {
		x = int(words.Below32(uint32(image.x1 - w)))
	}
	return rectangle{x, y, x + w, y + h}, true
}

// put sets the outputs: the part's begin and size, as tf.slice takes them, and its box.
func (d distortion) put(c call, image, r rectangle) error {
	t := c.t(0).DType
	if err := c.outputInts(0, t, []int{r.y0, r.x0, 0}, 3); err != nil {
		return err
	}
	if err := c.outputInts(1, t, []int{r.y1 - r.y0, r.x1 - r.x0, -1}, 3); err != nil {
		return err
	}
	box, err := outputOf[float32](c, 2, 1, 1, 4)
	if err != nil {
		return err
	}
	w, h := float32(image.x1), float32(image.y1)
	copy(box, []float32{float32(r.y0) / h, float32(r.x0) / w, float32(r.y1) / h, float32(r.x1) / w})
	return nil
}
