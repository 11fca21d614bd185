package ops

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Interpolation says how Resize computes values between elements.
type Interpolation int

// The interpolations.
const (
	Bilinear Interpolation = iota // linear between the two nearest elements in each dimension
	Nearest                       // the nearest element
)

// Resize resizes steps, images or volumes x [batch, spatial..., channels], with one size for each spatial dimension. Elements are at the
// centers of their cells, as in tf.image.resize without antialias and PyTorch's interpolate without align_corners.
func Resize(c models.Context, x *G.Node, how Interpolation, sizes ...int) *G.Node {
	const name = "Resize"
	if !ready(c, name, x) {
		return nil
	}
	s := x.Shape()
	if len(sizes) == 0 || len(s) != len(sizes)+2 || !steps(sizes...) {
		c.Core().Failf("%s: sizes %v of shape %v: expected one for each dimension between the batch and the channels, >= 1 and below 2^31", name, sizes, s)
		return nil
	}
	if how != Nearest && (how != Bilinear || !isFloat(x)) {
		c.Core().Failf("%s: interpolation %d of %v: expected Nearest, or Bilinear of floats", name, how, x.Dtype())
		return nil
	}
	for k := len(sizes); k > 0; k-- {
		x = resized(c, x, k, sizes[k-1], how)
	}
	return x
}

// resized resizes one dimension.
func resized(c models.Context, x *G.Node, k, size int, how Interpolation) *G.Node {
	if c.Core().Failed() || x.Shape()[k] == size {
		return x
	}
	p := placesOf(x.Shape()[k], size)
	if how == Nearest {
		return GatherAxis(c, x, Constant(c, indicesOf(p, func(p place) int { return p.nearest })), k)
	}
	low := GatherAxis(c, x, Constant(c, indicesOf(p, func(p place) int { return p.low })), k)
	high := GatherAxis(c, x, Constant(c, indicesOf(p, func(p place) int { return p.high })), k)
	return Add(c, low, Mul(c, Sub(c, high, low), Constant(c, partsOf(p, models.GraphType(x.Dtype()), len(x.Shape())-k-1))))
}

// place is where an element of the result lies: between two elements, at a fraction of the way from the first to the second.
type place struct {
	low, high, nearest int
	part               float32
}

// placesOf returns the places, in a dimension of n elements, of the elements of a dimension of size. They are computed in float32, as in TensorFlow.
func placesOf(n, size int) []place {
	scale := float32(n) / float32(size)
	out := make([]place, size)
	for i := range out {
		middle := (float32(i) + 0.5) * scale
		at := float64(middle - 0.5)
		below := math.Floor(at)
		out[i] = place{low: max(int(below), 0), high: min(int(math.Ceil(at)), n-1), nearest: min(int(middle), n-1), part: float32(at - below)}
		out[i].low = min(out[i].low, out[i].high)
	}
	return out
}

// indicesOf returns indices for GatherAxis.
func indicesOf(ps []place, of func(p place) int) *tensor.Tensor {
	t := tensor.New(tensor.Int32, len(ps))
	for i, p := range ps {
		tensor.Values[int32](t)[i] = int32(of(p))
	}
	return t
}

// partsOf returns the fractions as a constant that broadcasts along a dimension with behind dimensions after it.
func partsOf(ps []place, d tensor.DType, behind int) *tensor.Tensor {
	shape := []int{len(ps)}
	for range behind {
		shape = append(shape, 1)
	}
	t := tensor.New(d, shape...)
	for i, p := range ps {
		if d == tensor.Float32 {
			tensor.Values[float32](t)[i] = p.part
		} else {
			tensor.Values[float64](t)[i] = float64(p.part)
		}
	}
	return t
}
