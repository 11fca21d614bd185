package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// RandomCropFlip changes each image of x [batch, height, width, channels] at random in training. It pads all sides with zeros, crops a
// random part of the old size and, if flip is set, mirrors half of the images. It is inputs.Augment as a part of the program: it runs
// where the model runs, with other random numbers. It has no gradient.
func RandomCropFlip(c models.Context, x *G.Node, padding int, flip bool) (y *G.Node) {
	const layer = "random_crop_flip"
	if !usable(c, layer, x, 4) {
		return nil
	}
	s := x.Shape()
	if padding < 0 || padding > max(s[1], s[2]) || s[1]*s[2]*s[3] > maxExact {
		c.Core().Failf("%s: padding %d of images %v: expected 0 to %d, and images of at most %d numbers", layer, padding, s[1:], max(s[1], s[2]), maxExact)
		return nil
	}
	if padding == 0 && !flip || !c.Core().Training() {
		return x
	}
	scope(c, "", layer, func() { y = cropFlip{c, x, padding, flip}.build() })
	return y
}

// maxExact is the largest number up to which a float32 holds every integer.
const maxExact = 1 << 24

type cropFlip struct {
	c       models.Context
	x       *G.Node
	padding int
	flip    bool
}

// build selects the pixels: pixel (i, j) of an image is pixel (i+dy, j+dx) of the old one, or (i+dy, w-1-j+dx) if mirrored; zero
// outside. Indices are computed as float32, which holds them exactly.
func (a cropFlip) build() *G.Node {
	c, s := a.c, a.x.Shape()
	h, w, channels := s[1], s[2], s[3]
	number := func(v int) *G.Node { return ops.Scalar(c, tensor.Float32, float64(v)) }
	rows, columns := a.coordinate(h, w, func(i, _ int) int { return i }), a.coordinate(h, w, func(_, j int) int { return j })
	if a.flip {
		mirrored := ops.Cast(c, ops.GreaterEqual(c, a.uniform("flip"), ops.Scalar(c, tensor.Float32, 0.5)), tensor.Float32)
		columns = ops.Add(c, columns, ops.Mul(c, mirrored, ops.Sub(c, number(w-1), ops.Mul(c, columns, number(2)))))
	}
	inside := []*G.Node{}
	shift := func(at *G.Node, name string, size int) *G.Node {
		if a.padding == 0 {
			return at
		}
		by := ops.Sub(c, ops.Floor(c, ops.Mul(c, a.uniform(name), number(2*a.padding+1))), number(a.padding))
		at = ops.Add(c, at, by)
		inside = append(inside, ops.GreaterEqual(c, at, number(0)), ops.Less(c, at, number(size)))
		return at
	}
	rows, columns = shift(rows, "rows", h), shift(columns, "columns", w)
	pixel := ops.Add(c, ops.Mul(c, rows, number(w)), columns)
	first := ops.ClipByValue(c, ops.Mul(c, pixel, number(channels)), 0, float64((h*w-1)*channels))
	place := ops.Cast(c, ops.Add(c, first, a.channels()), tensor.Int32) // [batch, h, w, channels]
	n := h * w * channels
	y := ops.Reshape(c, ops.GatherEach(c, ops.Reshape(c, a.x, s[0], n), ops.Reshape(c, place, s[0], n)), s...)
	for _, in := range inside {
		y = ops.Where(c, in, y, ops.Scalar(c, models.GraphType(a.x.Dtype()), 0))
	}
	return y
}

// coordinate returns a constant [1, h, w, 1].
func (a cropFlip) coordinate(h, w int, of func(i, j int) int) *G.Node {
	t := tensor.New(tensor.Float32, 1, h, w, 1)
	for k := range h * w {
		tensor.Values[float32](t)[k] = float32(of(k/w, k%w))
	}
	return ops.Constant(a.c, t)
}

// channels returns the constant 0, 1, ... along the last dimension.
func (a cropFlip) channels() *G.Node {
	t := tensor.New(tensor.Float32, a.x.Shape()[3])
	for k := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[k] = float32(k)
	}
	return ops.Constant(a.c, t)
}

// uniform returns a random number in [0, 1) for each image: [batch, 1, 1, 1] float32.
func (a cropFlip) uniform(name string) (u *G.Node) {
	one := ops.Cast(a.c, ops.Slice(a.c, a.x, []int{0, 0, 0, 0}, []int{-1, 1, 1, 1}), tensor.Float32)
	a.c.Core().Scope(name, func() { u = ops.RandomUniform(a.c, one) })
	return u
}
