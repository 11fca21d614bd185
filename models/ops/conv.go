package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Conv2D correlates images x [batch, height, width, in] with a filter
// [height, width, in, out], in steps of strides.
func Conv2D(c models.Context, x, filter *G.Node, strides [2]int, p Padding) *G.Node {
	return convolve(c, convolution{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", func(f []int) int { return f[3] }},
		x, filter, strides, p)
}

// DepthwiseConv2D correlates each channel of x [batch, height, width, in] with
// its own filters [height, width, in, multiplier]: channel i gives the output
// channels i·multiplier, i·multiplier+1, ...
func DepthwiseConv2D(c models.Context, x, filter *G.Node, strides [2]int, p Padding) *G.Node {
	return convolve(c, convolution{"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter",
		func(f []int) int { return f[2] * f[3] }}, x, filter, strides, p)
}

// convolution names the ops of one kind of convolution.
type convolution struct {
	op, input, filter string
	channels          func(filter []int) int // of the output
}

func convolve(c models.Context, k convolution, x, filter *G.Node, strides [2]int, p Padding) *G.Node {
	if !floats(c, k.op, x, filter) || !rank(c, k.op, "images", x, 4) || !rank(c, k.op, "filter", filter, 4) {
		return nil
	}
	xs, fs := x.Shape(), filter.Shape()
	if xs[3] != fs[2] {
		c.Core().Failf("%s: images %v have %d channels, filter %v expects %d", k.op, xs, xs[3], fs, fs[2])
		return nil
	}
	h, w, ok := windows(c, k.op, x, [2]int{fs[0], fs[1]}, strides, p)
	if !ok {
		return nil
	}
	attrs := with(p.attrs(x, strides), "dilations", []int64{1, 1, 1, 1})
	if k.op == "Conv2D" {
		attrs["use_cudnn_on_gpu"] = true
	}
	return apply(c, spec{op: k.op, attrs: attrs, outs: []kind{{x.Dtype(), []int{xs[0], h, w, k.channels(fs)}}},
		grad: func(a *adjoint) []*G.Node { return k.grad(a, attrs) }}, x, filter)
}

func (k convolution) grad(a *adjoint, attrs graph.Attrs) []*G.Node {
	x, filter := a.in[0], a.in[1]
	dx := apply(a, spec{op: k.input, attrs: attrs, outs: []kind{kindOf(x)}, emit: func(e *emission) []graph.Output {
		return e.all(e.shapeOf(e.in[0]), e.in[1], e.in[2])
	}}, x, filter, a.grad)
	df := apply(a, spec{op: k.filter, attrs: attrs, outs: []kind{kindOf(filter)}, emit: func(e *emission) []graph.Output {
		size := e.constant(vector("filter_sizes", filter.Shape()...))
		return e.all(e.in[0], size, e.in[1])
	}}, x, a.grad)
	return []*G.Node{dx, df}
}
