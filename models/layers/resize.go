package layers

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// UpSampling repeats each step, pixel or voxel of x [batch, spatial..., channels] along each spatial dimension, by one factor for
// each.
func UpSampling(c models.Context, x *G.Node, factors ...int) (y *G.Node) {
	if !spatial(c, "up_sampling", x, len(factors)) {
		return nil
	}
	if slices.Min(factors) < 1 || slices.Max(factors) > math.MaxInt32 {
		c.Core().Failf("up_sampling: factors %v: expected >= 1 and below 2^31", factors)
		return nil
	}
	scope(c, "", "up_sampling", func() {
		s := x.Shape()
		apart, times, out := []int{s[0]}, []int{1}, []int{s[0]}
		for i, f := range factors {
			apart, times, out = append(apart, s[1+i], 1), append(times, 1, f), append(out, s[1+i]*f)
		}
		channels := s[len(s)-1]
		y = ops.Reshape(c, ops.Tile(c, ops.Reshape(c, x, append(apart, channels)...), append(times, 1)...), append(out, channels)...)
	})
	return y
}

// Resizing resizes steps, images or volumes x [batch, spatial..., channels], with one size for each spatial dimension: see ops.Resize.
func Resizing(c models.Context, x *G.Node, how ops.Interpolation, sizes ...int) (y *G.Node) {
	if !spatial(c, "resizing", x, len(sizes)) {
		return nil
	}
	scope(c, "", "resizing", func() { y = ops.Resize(c, x, how, sizes...) })
	return y
}

// ZeroPadding adds zeros before and after each spatial dimension of x [batch, spatial..., channels].
func ZeroPadding(c models.Context, x *G.Node, paddings ...[2]int) (y *G.Node) {
	if !spatial(c, "zero_padding", x, len(paddings)) {
		return nil
	}
	scope(c, "", "zero_padding", func() { y = ops.Pad(c, x, append(append([][2]int{{}}, paddings...), [2]int{})) })
	return y
}

// BorderPadding adds elements of x [batch, spatial..., channels] before and after each spatial dimension: see ops.Border.
func BorderPadding(c models.Context, x *G.Node, border ops.Border, paddings ...[2]int) (y *G.Node) {
	if !spatial(c, "border_padding", x, len(paddings)) {
		return nil
	}
	scope(c, "", "border_padding", func() { y = ops.PadBorder(c, x, append(append([][2]int{{}}, paddings...), [2]int{}), border) })
	return y
}

// Cropping cuts elements off before and after each spatial dimension of x [batch, spatial..., channels].
func Cropping(c models.Context, x *G.Node, crops ...[2]int) (y *G.Node) {
	if !spatial(c, "cropping", x, len(crops)) {
		return nil
	}
	begin, size := make([]int, len(crops)+2), slices.Clone([]int(x.Shape()))
	for i, p := range crops {
		begin[1+i], size[1+i] = p[0], size[1+i]-p[0]-p[1]
		if min(p[0], p[1]) < 0 || max(p[0], p[1]) > math.MaxInt32 || size[1+i] < 1 {
			c.Core().Failf("cropping: %v of shape %v: expected no negative numbers, and that something is left", crops, x.Shape())
			return nil
		}
	}
	size[0], size[len(size)-1] = -1, -1
	scope(c, "", "cropping", func() { y = ops.Slice(c, x, begin, size) })
	return y
}

// spatial reports whether x has a batch, that many spatial dimensions, one to three, and channels.
func spatial(c models.Context, layer string, x *G.Node, n int) bool {
	if n < 1 || n > 3 {
		if !c.Core().Failed() {
			c.Core().Failf("%s: %d spatial dimensions: expected 1 to 3", layer, n)
		}
		return false
	}
	return usable(c, layer, x, n+2)
}
