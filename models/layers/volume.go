package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Window3D is the geometry of a convolution or a pool over volumes.
type Window3D struct {
	Size    [3]int      // depth, rows, columns
	Strides [3]int      // zero: 1 for convolutions, the window's size for pools
	Padding ops.Padding // ops.Valid (default) or ops.Same
}

func (w Window3D) strides(def [3]int) [3]int {
	if w.Strides == [3]int{} {
		return def
	}
	return w.Strides
}

// Conv3D returns activation(conv(x, kernel) + bias) for x [batch, depth, height, width, channels], with the variables
// conv3d/kernel [depth, rows, columns, channels, filters] and conv3d/bias [filters].
func Conv3D(c models.Context, x *G.Node, filters int, win Window3D, w Weights) (y *G.Node) {
	if !usable(c, "conv3d", x, 5) || !positive(c, "conv3d", "filters", filters) {
		return nil
	}
	scope(c, w.Name, "conv3d", func() {
		kernel := w.kernel(c, "kernel", win.Size[0], win.Size[1], win.Size[2], x.Shape()[4], filters)
		y = w.finish(c, ops.Conv3D(c, x, kernel, win.strides([3]int{1, 1, 1}), win.Padding), filters)
	})
	return y
}

// MaxPool3D returns the largest value of each window of x [batch, depth, height, width, channels].
func MaxPool3D(c models.Context, x *G.Node, win Window3D) (y *G.Node) {
	if !usable(c, "max_pooling3d", x, 5) {
		return nil
	}
	scope(c, "", "max_pooling3d", func() { y = ops.MaxPool3D(c, x, win.Size, win.strides(win.Size), win.Padding) })
	return y
}

// AvgPool3D returns the mean of each window of x [batch, depth, height, width, channels].
func AvgPool3D(c models.Context, x *G.Node, win Window3D) (y *G.Node) {
	if !usable(c, "average_pooling3d", x, 5) {
		return nil
	}
	scope(c, "", "average_pooling3d", func() { y = ops.AvgPool3D(c, x, win.Size, win.strides(win.Size), win.Padding) })
	return y
}

// GlobalAvgPool3D returns the mean over depth, height and width: [batch, channels].
func GlobalAvgPool3D(c models.Context, x *G.Node) (y *G.Node) {
	if !usable(c, "global_average_pooling3d", x, 5) {
		return nil
	}
	scope(c, "", "global_average_pooling3d", func() { y = ops.Mean(c, x, ops.Axes(1, 2, 3)) })
	return y
}

// GlobalMaxPool3D returns the largest value over depth, height and width: [batch, channels].
func GlobalMaxPool3D(c models.Context, x *G.Node) (y *G.Node) {
	if !usable(c, "global_max_pooling3d", x, 5) {
		return nil
	}
	scope(c, "", "global_max_pooling3d", func() { y = ops.Max(c, x, ops.Axes(1, 2, 3)) })
	return y
}
