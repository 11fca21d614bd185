package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Window is the geometry of a convolution or a pool.
type Window struct {
	Size    [2]int      // rows, columns
	Strides [2]int      // zero: 1 for convolutions, the window's size for pools
	Padding ops.Padding // ops.Valid (default), ops.Same or, for convolutions, ops.Explicit
}

// SquareWindow is the Window of size×size with one stride.
func SquareWindow(size, stride int, p ops.Padding) Window {
	return Window{Size: [2]int{size, size}, Strides: [2]int{stride, stride}, Padding: p}
}

func (w Window) strides(def [2]int) [2]int {
	if w.Strides == [2]int{} {
		return def
	}
	return w.Strides
}

// Conv2D returns activation(conv(x, kernel) + bias) for x [batch, height,
// width, channels], with the variables conv2d/kernel [rows, columns, channels,
// filters] and conv2d/bias [filters].
func Conv2D(c models.Context, x *G.Node, filters int, win Window, w Weights) (y *G.Node) {
	if !usable(c, "conv2d", x, 4) || !positive(c, "conv2d", "filters", filters) {
		return nil
	}
	scope(c, w.Name, "conv2d", func() {
		kernel := w.kernel(c, "kernel", win.Size[0], win.Size[1], x.Shape()[3], filters)
		y = w.finish(c, ops.Conv2D(c, x, kernel, win.strides([2]int{1, 1}), win.Padding), filters)
	})
	return y
}

// DepthwiseConv2D convolves each channel of x with multiplier filters of its
// own: variables depthwise_conv2d/depthwise_kernel [rows, columns, channels,
// multiplier] and depthwise_conv2d/bias [channels·multiplier].
func DepthwiseConv2D(c models.Context, x *G.Node, multiplier int, win Window, w Weights) (y *G.Node) {
	if !usable(c, "depthwise_conv2d", x, 4) || !positive(c, "depthwise_conv2d", "multiplier", multiplier) {
		return nil
	}
	scope(c, w.Name, "depthwise_conv2d", func() {
		channels := x.Shape()[3]
		kernel := w.kernel(c, "depthwise_kernel", win.Size[0], win.Size[1], channels, multiplier)
		y = w.finish(c, ops.DepthwiseConv2D(c, x, kernel, win.strides([2]int{1, 1}), win.Padding), channels*multiplier)
	})
	return y
}
