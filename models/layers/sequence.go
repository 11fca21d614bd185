package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Window1D is the geometry of a convolution or a pool over steps.
type Window1D struct {
	Size     int
	Stride   int         // zero: 1 for convolutions, the window's size for pools
	Padding  ops.Padding // ops.Valid (default) or ops.Same
	Causal   bool        // of convolutions: zeros before the first step, so that no result depends on later steps
	Dilation int         // of convolutions with stride 1; zero: 1
	Groups   int         // of channels of a Conv1D; zero: 1
}

// flat returns the window over images of one row.
func (w Window1D) flat(stride int) Window {
	if w.Stride != 0 {
		stride = w.Stride
	}
	return Window{Size: [2]int{1, w.Size}, Strides: [2]int{1, stride}, Padding: w.Padding, Dilation: [2]int{1, w.dilation()}, Groups: w.Groups, steps: true}
}

func (w Window1D) dilation() int {
	if w.Dilation == 0 {
		return 1
	}
	return w.Dilation
}

// Conv1D returns activation(conv(x, kernel) + bias) for x [batch, steps, channels], with the variables conv1d/kernel
// [size, channels/groups, filters] and conv1d/bias [filters].
func Conv1D(c models.Context, x *G.Node, filters int, win Window1D, w Weights) (y *G.Node) {
	if !usable(c, "conv1d", x, 3) || !positive(c, "conv1d", "filters", filters) {
		return nil
	}
	scope(c, w.Name, "conv1d", func() {
		x, win = win.shifted(c, x)
		y = row(c, x, func(x *G.Node) *G.Node { return conv2D(c, "conv1d", x, filters, win.flat(1), w) })
	})
	return y
}

// SeparableConv1D is SeparableConv2D for steps, x [batch, steps, channels], with the variables separable_conv1d/depthwise_kernel
// [size, channels, multiplier], separable_conv1d/pointwise_kernel [1, channels·multiplier, filters] and separable_conv1d/bias [filters].
func SeparableConv1D(c models.Context, x *G.Node, filters, multiplier int, win Window1D, w Weights) (y *G.Node) {
	const layer = "separable_conv1d"
	if !usable(c, layer, x, 3) || !positive(c, layer, "filters", filters) || !positive(c, layer, "multiplier", multiplier) || !win.flat(1).ungrouped(c, layer) {
		return nil
	}
	channels := x.Shape()[2]
	scope(c, w.Name, layer, func() {
		x, win = win.shifted(c, x)
		y = row(c, x, func(x *G.Node) *G.Node {
			parts := depthwise(c, layer, x, multiplier, win.flat(1), w)
			kernel := ops.ExpandDims(c, w.kernel(c, "pointwise_kernel", 1, channels*multiplier, filters), 0)
			return w.finish(c, ops.Conv2D(c, parts, kernel, [2]int{1, 1}, ops.Valid), filters)
		})
	})
	return y
}

// shifted puts zeros before the first step of a causal convolution.
func (w Window1D) shifted(c models.Context, x *G.Node) (*G.Node, Window1D) {
	before := (w.Size - 1) * w.dilation()
	if !w.Causal || before <= 0 {
		return x, w
	}
	w.Padding = ops.Valid
	return ops.Pad(c, x, [][2]int{{}, {before, 0}, {}}), w
}

// row applies f to steps as images of one row.
func row(c models.Context, x *G.Node, f func(x *G.Node) *G.Node) *G.Node {
	x = ops.ExpandDims(c, x, 1)
	if c.Core().Failed() {
		return nil
	}
	return ops.Squeeze(c, f(x), 1)
}

// MaxPool1D returns the largest value of each window of x [batch, steps, channels].
func MaxPool1D(c models.Context, x *G.Node, win Window1D) *G.Node {
	return pool1D(c, "max_pooling1d", x, win, ops.MaxPool)
}

// AvgPool1D returns the mean of each window of x [batch, steps, channels].
func AvgPool1D(c models.Context, x *G.Node, win Window1D) *G.Node {
	return pool1D(c, "average_pooling1d", x, win, ops.AvgPool)
}

func pool1D(c models.Context, layer string, x *G.Node, win Window1D, pool func(models.Context, *G.Node, [2]int, [2]int, ops.Padding) *G.Node) (y *G.Node) {
	flat := win.flat(win.Size)
	if !usable(c, layer, x, 3) || !flat.plain(c, layer) {
		return nil
	}
	if win.Causal {
		c.Core().Failf("%s: causal: expected a convolution", layer)
		return nil
	}
	scope(c, "", layer, func() {
		y = row(c, x, func(x *G.Node) *G.Node { return pool(c, x, flat.Size, flat.Strides, flat.Padding) })
	})
	return y
}

// GlobalAvgPool1D returns the mean over the steps of x [batch, steps, channels]: [batch, channels].
func GlobalAvgPool1D(c models.Context, x *G.Node) (y *G.Node) {
	if !usable(c, "global_average_pooling1d", x, 3) {
		return nil
	}
	scope(c, "", "global_average_pooling1d", func() { y = ops.Mean(c, x, ops.Axes(1)) })
	return y
}

// GlobalMaxPool1D returns the largest value over the steps of x [batch, steps, channels]: [batch, channels].
func GlobalMaxPool1D(c models.Context, x *G.Node) (y *G.Node) {
	if !usable(c, "global_max_pooling1d", x, 3) {
		return nil
	}
	scope(c, "", "global_max_pooling1d", func() { y = ops.Max(c, x, ops.Axes(1)) })
	return y
}
