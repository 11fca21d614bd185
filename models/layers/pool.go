package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// MaxPool2D returns the largest value of each window of x [batch, height, width, channels].
func MaxPool2D(c models.Context, x *G.Node, win Window) (y *G.Node) {
	if !usable(c, "max_pooling2d", x, 4) || !win.plain(c, "max_pooling2d") {
		return nil
	}
	scope(c, "", "max_pooling2d", func() { y = ops.MaxPool(c, x, win.Size, win.strides(win.Size), win.Padding) })
	return y
}

// AvgPool2D returns the mean of each window of x [batch, height, width, channels].
func AvgPool2D(c models.Context, x *G.Node, win Window) (y *G.Node) {
	if !usable(c, "average_pooling2d", x, 4) || !win.plain(c, "average_pooling2d") {
		return nil
	}
	scope(c, "", "average_pooling2d", func() { y = ops.AvgPool(c, x, win.Size, win.strides(win.Size), win.Padding) })
	return y
}

// GlobalAvgPool2D returns the mean over height and width: [batch, channels].
func GlobalAvgPool2D(c models.Context, x *G.Node) (y *G.Node) {
	if !usable(c, "global_average_pooling2d", x, 4) {
		return nil
	}
	scope(c, "", "global_average_pooling2d", func() { y = ops.Mean(c, x, ops.Axes(1, 2)) })
	return y
}

// GlobalMaxPool2D returns the largest value over height and width: [batch, channels].
func GlobalMaxPool2D(c models.Context, x *G.Node) (y *G.Node) {
	if !usable(c, "global_max_pooling2d", x, 4) {
		return nil
	}
	scope(c, "", "global_max_pooling2d", func() { y = ops.Max(c, x, ops.Axes(1, 2)) })
	return y
}
