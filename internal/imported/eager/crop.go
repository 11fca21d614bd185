package eager

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// cropping crops boxes from images, and resizes them to one size.
type cropping struct {
	boxes         []float32 // normalized corners, four per box
	images        []int32   // index of each box's image
	n, h, w, d    int       // of the images
	high, wide    int       // of the crops
	nearest       bool
	extrapolation float32
}

// readCropping checks boxes, the indices of their images, and the images' shape.
func readCropping(s *site, boxes, images *tensor.Tensor, shape []int, size [2]int) (*cropping, error) {
	switch {
	case len(shape) != 4:
		return nil, fmt.Errorf("input image must be 4-D, got shape %v", shape)
	case shape[1] <= 0 || shape[2] <= 0:
		return nil, errors.New("image dimensions must be positive")
	case size[0] <= 0 || size[1] <= 0:
		return nil, errors.New("crop dimensions must be positive")
	case boxes.DType != tensor.Float32 || len(boxes.Shape) != 2 || boxes.Shape[1] != 4 || images.DType != tensor.Int32 || len(images.Shape) != 1 || images.Shape[0] != boxes.Shape[0]:
		return nil, fmt.Errorf("expected boxes [n,4] and box_index [n], got shapes %v and %v", boxes.Shape, images.Shape)
	}
	k := &cropping{boxes: tensor.Values[float32](boxes), images: tensor.Values[int32](images), n: shape[0], h: shape[1], w: shape[2], d: shape[3],
		high: size[0], wide: size[1], nearest: s.str("method", "bilinear") == "nearest", extrapolation: s.node.Float("extrapolation_value", 0)}
	for _, b := range k.images {
		if b < 0 || int(b) >= k.n {
			return nil, errors.New("box_index has values outside [0, batch_size)")
		}
	}
	for _, v := range k.boxes {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, errors.New("boxes contains at least one element that is not finite")
		}
	}
	return k, nil
}

// cropLine returns the position of a crop's pixel along one dimension of the image, and whether it is inside. If a box is so large that
// the distance of its corners overflows, positions are NaN, which is outside.
func cropLine(from, to float32, i, out, in int) (float32, bool) {
	at := 0.5 * (from + to) * float32(in-1)
	if out > 1 {
		scale := (to - from) * float32(in-1) / float32(out-1)
		at = from*float32(in-1) + float32(i)*scale
	}
	return at, at >= 0 && at <= float32(in-1)
}

// each calls f for each pixel of the crops that lies inside its image, and outside for all others. It ends with the request.
func (k *cropping) each(c call, f func(at int, image int, p, q pixel), outside func(at int)) error {
	if k.d == 0 {
		return nil // no elements, of any size
	}
	for i, image := range k.images {
		b := k.boxes[4*i : 4*i+4]
		for y := range k.high {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			py, inside := cropLine(b[0], b[2], y, k.high, k.h)
			for x := range k.wide {
				at := ((i*k.high+y)*k.wide + x) * k.d
				px, in := cropLine(b[1], b[3], x, k.wide, k.w)
				if !inside || !in {
					outside(at)
					continue
				}
				f(at, int(image), k.pixel(py), k.pixel(px))
			}
		}
	}
	return nil
}

// pixel returns the pixels around a position; in nearest mode, the nearest one twice.
func (k *cropping) pixel(at float32) pixel {
	if k.nearest {
		v := int(math.Round(float64(at)))
		return pixel{v, v, 0}
	}
	low := float32(math.Floor(float64(at)))
	return pixel{int(low), int(math.Ceil(float64(at))), at - low}
}

// place returns the index of an image's pixel.
func (k *cropping) place(image, y, x int) int { return ((image*k.h+y)*k.w + x) * k.d }

func pair(what string, t *tensor.Tensor) (v [2]int, err error) {
	all, err := vector(what, t)
	if err != nil || len(all) != 2 {
		return v, fmt.Errorf("%s must have two elements, got shape %v", what, t.Shape)
	}
	return [2]int{all[0], all[1]}, nil
}

func cropAndResize(s *site) (kernel, error) {
	return func(c call) error {
		size, err := pair("crop_size", c.t(3))
		if err != nil {
			return err
		}
		k, err := readCropping(s, c.t(1), c.t(2), c.t(0).Shape, size)
		if err != nil {
			return err
		}
		y, err := outputOf[float32](c, 0, len(k.images), k.high, k.wide, k.d)
		if err != nil || len(y) == 0 {
			return err
		}
		src, err := recastTo(c, c.t(0), tensor.Float32)
		if err != nil {
			return err
		}
		in := tensor.Values[float32](src)
		return k.each(c, func(at, image int, p, q pixel) {
			tl, tr := in[k.place(image, p.lo, q.lo):], in[k.place(image, p.lo, q.hi):]
			bl, br := in[k.place(image, p.hi, q.lo):], in[k.place(image, p.hi, q.hi):]
			for j := range k.d {
				if k.nearest {
					y[at+j] = tl[j]
					continue
				}
				top := tl[j] + (tr[j]-tl[j])*q.part
				bottom := bl[j] + (br[j]-bl[j])*q.part
				y[at+j] = top + (bottom-top)*p.part
			}
		}, func(at int) {
			for j := range k.d {
				y[at+j] = k.extrapolation
			}
		})
	}, nil
}

// cropGradImage is the gradient of crops with respect to the images.
func cropGradImage(s *site) (kernel, error) {
	d := s.dtype("T", tensor.Float32)
	return func(c call) error {
		g := c.t(0)
		shape, err := c.vector("image_size", c.t(3))
		if err != nil {
			return err
		}
		k, err := gradCropping(s, g, c.t(1), c.t(2), shape)
		if err != nil {
			return err
		}
		sum, err := c.alloc(tensor.Float32, shape...)
		if err != nil {
			return err
		}
		dx, grads := tensor.Values[float32](sum), tensor.Values[float32](g)
		err = k.each(c, func(at, image int, p, q pixel) {
			for j, v := range grads[at : at+k.d] {
				top, bottom := (1-p.part)*v, p.part*v
				dx[k.place(image, p.lo, q.lo)+j] += (1 - q.part) * top
				dx[k.place(image, p.lo, q.hi)+j] += q.part * top
				dx[k.place(image, p.hi, q.lo)+j] += (1 - q.part) * bottom
				dx[k.place(image, p.hi, q.hi)+j] += q.part * bottom
			}
		}, func(int) {})
		if err != nil {
			return err
		}
		if d == tensor.Float32 {
			c.set(0, sum)
			return nil
		}
		out, err := recastTo(c, sum, d)
		if err == nil {
			c.set(0, out)
		}
		return err
	}, nil
}

// gradCropping checks the gradients of crops.
func gradCropping(s *site, g, boxes, images *tensor.Tensor, shape []int) (*cropping, error) {
	if g.DType != tensor.Float32 || len(g.Shape) != 4 {
		return nil, fmt.Errorf("grads must be 4-D float32, got %v of shape %v", g.DType, g.Shape)
	}
	k, err := readCropping(s, boxes, images, shape, [2]int{g.Shape[1], g.Shape[2]})
	if err == nil && (g.Shape[0] != len(k.images) || g.Shape[3] != k.d) {
		err = fmt.Errorf("grads of shape %v do not fit %d boxes of images of shape %v", g.Shape, len(k.images), shape)
	}
	return k, err
}

// cropGradBoxes is the gradient of bilinear crops with respect to the boxes.
func cropGradBoxes(s *site) (kernel, error) {
	return func(c call) error {
		g := c.t(0)
		k, err := gradCropping(s, g, c.t(2), c.t(3), c.t(1).Shape)
		if err != nil {
			return err
		}
		out, err := outputOf[float32](c, 0, len(k.images), 4)
		if err != nil || len(out) == 0 {
			return err
		}
		src, err := recastTo(c, c.t(1), tensor.Float32)
		if err != nil {
			return err
		}
		in, grads := tensor.Values[float32](src), tensor.Values[float32](g)
		return k.each(c, func(at, image int, p, q pixel) {
			i, y, x := at/(k.d*k.wide*k.high), at/(k.d*k.wide)%k.high, at/k.d%k.wide
			to := out[4*i : 4*i+4]
			for j, v := range grads[at : at+k.d] {
				tl, tr := in[k.place(image, p.lo, q.lo)+j], in[k.place(image, p.lo, q.hi)+j]
				bl, br := in[k.place(image, p.hi, q.lo)+j], in[k.place(image, p.hi, q.hi)+j]
				cropEdges(to[0:], ((1-q.part)*(bl-tl)+q.part*(br-tr))*v, y, k.high, k.h)
				cropEdges(to[1:], ((1-p.part)*(tr-tl)+p.part*(br-bl))*v, x, k.wide, k.w)
			}
		}, func(int) {})
	}, nil
}

// cropEdges adds the gradient of one pixel to a box's two edges along one dimension, which are 2 apart in to.
func cropEdges(to []float32, g float32, i, out, in int) {
	if out <= 1 {
		to[0] += g * 0.5 * float32(in-1)
		to[2] += g * 0.5 * float32(in-1)
		return
	}
	part := float32(i) * (float32(in-1) / float32(out-1))
	to[0] += g * (float32(in-1) - part)
	to[2] += g * part
}
