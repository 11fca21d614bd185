package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Window is the geometry of a convolution or a pool.
type Window struct {
	Size     [2]int      // rows, columns
	Strides  [2]int      // zero: 1 for convolutions, the window's size for pools
	Padding  ops.Padding // ops.Valid (default), ops.Same or, for convolutions, ops.Explicit
	Dilation [2]int      // of convolutions with strides of 1: the distance between taps; zero: 1
	Groups   int         // groups of channels of a Conv2D, each convolved separately; zero: 1

	steps bool // for a layer on steps, whose kernel has no rows
}

// SquareWindow returns the Window of size×size with the same stride in both dimensions.
func SquareWindow(size, stride int, p ops.Padding) Window {
	return Window{Size: [2]int{size, size}, Strides: [2]int{stride, stride}, Padding: p}
}

func (w Window) strides(def [2]int) [2]int {
	if w.Strides == [2]int{} {
		return def
	}
	return w.Strides
}

// dilated reports whether there is a dilation, which TensorFlow allows only with strides of 1.
func (w Window) dilated(c models.Context, layer string) bool {
	if w.Dilation == [2]int{} || w.Dilation == [2]int{1, 1} {
		return false
	}
	if w.strides([2]int{1, 1}) != [2]int{1, 1} {
		c.Core().Failf("%s: strides %v with dilation %v: expected one of them to be 1", layer, w.Strides, w.Dilation)
	}
	return true
}

// ungrouped fails for a layer that has no groups.
func (w Window) ungrouped(c models.Context, layer string) bool {
	if w.Groups != 0 && w.Groups != 1 {
		c.Core().Failf("%s: %d groups: expected none, which are for Conv2D and Conv1D", layer, w.Groups)
		return false
	}
	return true
}

// plain fails for a layer without dilation and groups.
func (w Window) plain(c models.Context, layer string) bool {
	if w.Dilation != [2]int{} && w.Dilation != [2]int{1, 1} {
		c.Core().Failf("%s: dilation %v: expected none, which is for convolutions that do not enlarge", layer, w.Dilation)
		return false
	}
	return w.ungrouped(c, layer)
}

// kernel makes the kernel of a convolution, [rows, columns, in, out].
func (w Window) kernel(c models.Context, of Weights, in, out int) *G.Node {
	return w.kernelNamed(c, "kernel", of, in, out)
}

func (w Window) kernelNamed(c models.Context, name string, of Weights, in, out int) *G.Node {
	if w.steps {
		return ops.ExpandDims(c, of.kernel(c, name, w.Size[1], in, out), 0)
	}
	return of.kernel(c, name, w.Size[0], w.Size[1], in, out)
}

// Conv2D returns activation(conv(x, kernel) + bias) for x [batch, height,
// width, channels], with the variables conv2d/kernel [rows, columns,
// channels/groups, filters] and conv2d/bias [filters].
func Conv2D(c models.Context, x *G.Node, filters int, win Window, w Weights) (y *G.Node) {
	if !usable(c, "conv2d", x, 4) || !positive(c, "conv2d", "filters", filters) {
		return nil
	}
	scope(c, w.Name, "conv2d", func() { y = conv2D(c, "conv2d", x, filters, win, w) })
	return y
}

// conv2D is the convolution within its layer's scope.
func conv2D(c models.Context, layer string, x *G.Node, filters int, win Window, w Weights) *G.Node {
	groups := win.Groups
	if groups == 0 {
		groups = 1
	}
	if groups < 1 || x.Shape()[3]%groups != 0 || filters%groups != 0 {
		c.Core().Failf("%s: %d groups of %d channels and %d filters: expected multiples of a number >= 1", layer, groups, x.Shape()[3], filters)
		return nil
	}
	dilated := win.dilated(c, layer)
	kernel := win.kernel(c, w, x.Shape()[3]/groups, filters)
	if dilated {
		return w.finish(c, ops.AtrousConv2D(c, x, kernel, win.Dilation, win.Padding), filters)
	}
	return w.finish(c, ops.Conv2D(c, x, kernel, win.strides([2]int{1, 1}), win.Padding), filters)
}

// DepthwiseConv2D convolves each channel of x with multiplier filters of its own. Its
// variables are depthwise_conv2d/depthwise_kernel [rows, columns, channels, multiplier]
// and depthwise_conv2d/bias [channels·multiplier].
func DepthwiseConv2D(c models.Context, x *G.Node, multiplier int, win Window, w Weights) (y *G.Node) {
	if !usable(c, "depthwise_conv2d", x, 4) || !positive(c, "depthwise_conv2d", "multiplier", multiplier) || !win.ungrouped(c, "depthwise_conv2d") {
		return nil
	}
	scope(c, w.Name, "depthwise_conv2d", func() {
		y = w.finish(c, depthwise(c, "depthwise_conv2d", x, multiplier, win, w), x.Shape()[3]*multiplier)
	})
	return y
}

func depthwise(c models.Context, layer string, x *G.Node, multiplier int, win Window, w Weights) *G.Node {
	dilated := win.dilated(c, layer)
	kernel := win.kernelNamed(c, "depthwise_kernel", w, x.Shape()[3], multiplier)
	if dilated {
		return ops.AtrousDepthwiseConv2D(c, x, kernel, win.Dilation, win.Padding)
	}
	return ops.DepthwiseConv2D(c, x, kernel, win.strides([2]int{1, 1}), win.Padding)
}

// SeparableConv2D convolves each channel of x with multiplier filters of its own, and mixes the results pixel by pixel.
// Its variables are separable_conv2d/depthwise_kernel [rows, columns, channels, multiplier], separable_conv2d/pointwise_kernel
// [1, 1, channels·multiplier, filters] and separable_conv2d/bias [filters].
func SeparableConv2D(c models.Context, x *G.Node, filters, multiplier int, win Window, w Weights) (y *G.Node) {
	const layer = "separable_conv2d"
	if !usable(c, layer, x, 4) || !positive(c, layer, "filters", filters) || !positive(c, layer, "multiplier", multiplier) || !win.ungrouped(c, layer) {
		return nil
	}
	scope(c, w.Name, layer, func() {
		parts := depthwise(c, layer, x, multiplier, win, w)
		kernel := w.kernel(c, "pointwise_kernel", 1, 1, x.Shape()[3]*multiplier, filters)
		y = w.finish(c, ops.Conv2D(c, parts, kernel, [2]int{1, 1}, ops.Valid), filters)
	})
	return y
}
