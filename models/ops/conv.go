package ops

import (
	"maps"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Conv2D correlates images x [batch, height, width, in] with a filter
// [height, width, in/groups, out], with the given strides. If the filter has fewer
// channels than the images, each group has its own input and output channels.
func Conv2D(c models.Context, x, filter *G.Node, strides [2]int, p Padding) *G.Node {
	return convolve(c, conv2D, x, filter, [2][2]int{strides, {1, 1}}, p)
}

// AtrousConv2D is Conv2D with strides of 1 and a filter whose taps are rates apart.
func AtrousConv2D(c models.Context, x, filter *G.Node, rates [2]int, p Padding) *G.Node {
	return convolve(c, conv2D, x, filter, [2][2]int{{1, 1}, rates}, p)
}

// DepthwiseConv2D correlates each channel of x [batch, height, width, in] with its own
// filters [height, width, in, multiplier]. Channel i gives the output channels
// i·multiplier, i·multiplier+1, ...
func DepthwiseConv2D(c models.Context, x, filter *G.Node, strides [2]int, p Padding) *G.Node {
	return convolve(c, depthwise, x, filter, [2][2]int{strides, {1, 1}}, p)
}

// AtrousDepthwiseConv2D is DepthwiseConv2D with strides of 1 and a filter whose taps are rates apart.
func AtrousDepthwiseConv2D(c models.Context, x, filter *G.Node, rates [2]int, p Padding) *G.Node {
	return convolve(c, depthwise, x, filter, [2][2]int{{1, 1}, rates}, p)
}

// convolution names the ops of one kind of convolution.
type convolution struct {
	op, input, filter string
	fits              func(images, filter int) bool // channels
	channels          func(filter []int) int        // of the output
}

var (
	conv2D = convolution{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter",
		func(x, f int) bool { return x%f == 0 }, func(f []int) int { return f[3] }}
	depthwise = convolution{"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter",
		func(x, f int) bool { return x == f }, func(f []int) int { return f[2] * f[3] }}
	conv3D = convolution{"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", nil, nil}
)

// convolve moves windows by strides and dilations.
func convolve(c models.Context, k convolution, x, filter *G.Node, by [2][2]int, p Padding) *G.Node {
	if !floats(c, k.op, x, filter) || !rank(c, k.op, "images", x, 4) || !rank(c, k.op, "filter", filter, 4) {
		return nil
	}
	xs, fs := x.Shape(), filter.Shape()
	if !k.fits(xs[3], fs[2]) {
		c.Core().Failf("%s: images %v have %d channels, filter %v expects %d", k.op, xs, xs[3], fs, fs[2])
		return nil
	}
	if n := xs[3] / fs[2]; k.op == "Conv2D" && fs[3]%n != 0 {
		c.Core().Failf("%s: filter %v makes %d groups of images %v: expected a multiple of output channels", k.op, fs, n, xs)
		return nil
	}
	strides, dilations := by[0], by[1]
	if !steps(dilations[:]...) {
		c.Core().Failf("%s: dilations %v: expected >= 1 and below 2^31", k.op, dilations)
		return nil
	}
	h, w, ok := windows(c, k.op, x, [2]int{(fs[0]-1)*dilations[0] + 1, (fs[1]-1)*dilations[1] + 1}, strides, p)
	if !ok {
		return nil
	}
	attrs := with(p.attrs(x, strides), "dilations", []int64{1, int64(dilations[0]), int64(dilations[1]), 1})
	if k.op == "Conv2D" {
		attrs["use_cudnn_on_gpu"] = true
	}
	return apply(c, spec{op: k.op, attrs: attrs, outs: []kind{{x.Dtype(), []int{xs[0], h, w, k.channels(fs)}}},
		grad: func(a *adjoint) []*G.Node { return k.grad(a, attrs) }}, x, filter)
}

func (k convolution) grad(a *adjoint, attrs graph.Attrs) []*G.Node {
	x, filter := a.in[0], a.in[1]
	back := maps.Clone(attrs)
	if k.op == "Conv3D" {
		back["Tshape"] = tensor.Int32
	}
	dx := apply(a, spec{op: k.input, attrs: back, outs: []kind{kindOf(x)}, emit: func(e *emission) []graph.Output {
		return e.all(e.shapeOf(e.in[0]), e.in[1], e.in[2])
	}}, x, filter, a.grad)
	return []*G.Node{dx, k.filterGrad(a, attrs, filter, [2]*G.Node{x, a.grad})}
}

// filterGrad computes the gradient of a filter from images and the gradient of the results.
func (k convolution) filterGrad(a *adjoint, attrs graph.Attrs, filter *G.Node, of [2]*G.Node) *G.Node {
	return apply(a, spec{op: k.filter, attrs: attrs, outs: []kind{kindOf(filter)}, emit: func(e *emission) []graph.Output {
		size := e.constant(vector("filter_sizes", filter.Shape()...))
		return e.all(e.in[0], size, e.in[1])
	}}, of[0], of[1])
}

// Conv2DTranspose is the gradient of a Conv2D with respect to its images, as an op: it spreads each pixel of x [batch,
// height, width, in] by a filter [height, width, out, in] over an image with the given height and width and these
// strides. A Conv2D of such an image with these strides and this padding has the height and width of x.
func Conv2DTranspose(c models.Context, x, filter *G.Node, size, strides [2]int, p Padding) *G.Node {
	const op = "Conv2DTranspose"
	if !floats(c, op, x, filter) || !rank(c, op, "images", x, 4) || !rank(c, op, "filter", filter, 4) {
		return nil
	}
	xs, fs := x.Shape(), filter.Shape()
	if xs[3] != fs[3] || !steps(strides[0], strides[1], size[0], size[1]) {
		c.Core().Failf("%s: images %v, filter %v, size %v, strides %v: expected as many channels as the filter's last dimension, and numbers >= 1 and below 2^31", op, xs, fs, size, strides)
		return nil
	}
	if h, w := p.output(size[0], fs[0], strides[0], 0), p.output(size[1], fs[1], strides[1], 1); h != xs[1] || w != xs[2] {
		c.Core().Failf("%s: an image of %v would become [%d %d], expected the height and width of %v", op, size, h, w, xs)
		return nil
	}
	attrs := with(p.attrs(x, strides), "dilations", []int64{1, 1, 1, 1}, "use_cudnn_on_gpu", true)
	return apply(c, spec{op: conv2D.input, attrs: attrs, outs: []kind{{x.Dtype(), []int{xs[0], size[0], size[1], fs[2]}}},
		emit: func(e *emission) []graph.Output {
			return e.all(e.sizes(e.in[0], size[0], size[1], fs[2]), e.in[1], e.in[0])
		},
		grad: func(a *adjoint) []*G.Node {
			dx := apply(a, spec{op: conv2D.op, attrs: attrs, outs: []kind{kindOf(a.in[0])}}, a.grad, a.in[1])
			return []*G.Node{dx, conv2D.filterGrad(a, attrs, a.in[1], [2]*G.Node{a.grad, a.in[0]})}
		}}, x, filter)
}

// sizes emits a shape: the batch of x, and the others.
func (e *emission) sizes(x graph.Output, rest ...int) graph.Output {
	if !x.Valid() {
		return graph.Output{}
	}
	ints := func(n int) graph.Type { return graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(n)} }
	rows := e.Op("Slice", e.Name+"/batch", ints(1), graph.Attrs{"T": tensor.Int32, "Index": tensor.Int32},
		e.shapeOf(x), e.constant(vector("begin", 0)), e.constant(vector("size", 1)))
	return e.Op("ConcatV2", e.Name+"/input_sizes", ints(1+len(rest)), graph.Attrs{"N": int64(2), "T": tensor.Int32, "Tidx": tensor.Int32},
		rows, e.constant(vector("sizes", rest...)), e.constant(scalarInt("axis", 0)))
}
