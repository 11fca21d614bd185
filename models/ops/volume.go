package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Conv3D correlates volumes x [batch, depth, height, width, in] with a filter
// [depth, height, width, in, out], with the given strides. Padding is Same or Valid.
func Conv3D(c models.Context, x, filter *G.Node, strides [3]int, p Padding) *G.Node {
	if !floats(c, "Conv3D", x, filter) || !rank(c, "Conv3D", "volumes", x, 5) || !rank(c, "Conv3D", "filter", filter, 5) {
		return nil
	}
	xs, fs := x.Shape(), filter.Shape()
	if xs[4] != fs[3] {
		c.Core().Failf("Conv3D: volumes %v have %d channels, filter %v expects %d", xs, xs[4], fs, fs[3])
		return nil
	}
	out, ok := volumes(c, "Conv3D", x, [3]int(fs[:3]), strides, p)
	if !ok {
		return nil
	}
	attrs := with(volumeAttrs(x, strides, p), "dilations", []int64{1, 1, 1, 1, 1})
	return apply(c, spec{op: "Conv3D", attrs: attrs, outs: []kind{{x.Dtype(), append(out, fs[4])}},
		grad: func(a *adjoint) []*G.Node { return conv3D.grad(a, attrs) }}, x, filter)
}

// Conv3DTranspose is the gradient of a Conv3D with respect to its volumes, as an op: it spreads each element of x [batch,
// depth, height, width, in] by a filter [depth, height, width, out, in] over a volume of the given size with these strides.
// A Conv3D of such a volume with these strides and this padding has the size of x.
func Conv3DTranspose(c models.Context, x, filter *G.Node, size, strides [3]int, p Padding) *G.Node {
	const op = "Conv3DTranspose"
	if !floats(c, op, x, filter) || !rank(c, op, "volumes", x, 5) || !rank(c, op, "filter", filter, 5) {
		return nil
	}
	xs, fs := x.Shape(), filter.Shape()
	if xs[4] != fs[4] || !steps(strides[:]...) || !steps(size[:]...) || p.kind == "EXPLICIT" {
		c.Core().Failf("%s: volumes %v, filter %v, size %v, strides %v, padding %v: expected as many channels as the filter's last dimension, numbers >= 1 and below 2^31, and Same or Valid",
			op, xs, fs, size, strides, p)
		return nil
	}
	for i, n := range size {
		if got := p.output(n, fs[i], strides[i], 0); got != xs[1+i] {
			c.Core().Failf("%s: a volume of %v would have size %d in dimension %d, expected that of %v", op, size, got, 1+i, xs)
			return nil
		}
	}
	attrs := with(volumeAttrs(x, strides, p), "dilations", []int64{1, 1, 1, 1, 1})
	return apply(c, spec{op: conv3D.input, attrs: with(attrs, "Tshape", tensor.Int32), outs: []kind{{x.Dtype(), []int{xs[0], size[0], size[1], size[2], fs[3]}}},
		emit: func(e *emission) []graph.Output {
			return e.all(e.sizes(e.in[0], size[0], size[1], size[2], fs[3]), e.in[1], e.in[0])
		},
		grad: func(a *adjoint) []*G.Node {
			dx := apply(a, spec{op: conv3D.op, attrs: attrs, outs: []kind{kindOf(a.in[0])}}, a.grad, a.in[1])
			return []*G.Node{dx, conv3D.filterGrad(a, attrs, a.in[1], [2]*G.Node{a.grad, a.in[0]})}
		}}, x, filter)
}

// MaxPool3D returns the largest value in each window of x [batch, depth, height, width, channels].
func MaxPool3D(c models.Context, x *G.Node, window, strides [3]int, p Padding) *G.Node {
	return pool3D(c, "MaxPool3D", x, window, strides, p)
}

// AvgPool3D returns the mean of each window of x [batch, depth, height, width, channels],
// without the zeros that Same adds.
func AvgPool3D(c models.Context, x *G.Node, window, strides [3]int, p Padding) *G.Node {
	return pool3D(c, "AvgPool3D", x, window, strides, p)
}

func pool3D(c models.Context, op string, x *G.Node, window, strides [3]int, p Padding) *G.Node {
	if !floats(c, op, x) || !rank(c, op, "volumes", x, 5) {
		return nil
	}
	out, ok := volumes(c, op, x, window, strides, p)
	if !ok {
		return nil
	}
	attrs := with(volumeAttrs(x, strides, p), "ksize", five(window))
	return apply(c, spec{op: op, attrs: attrs, outs: []kind{{x.Dtype(), append(out, x.Shape()[4])}},
		grad: one(func(a *adjoint) *G.Node {
			back := spec{op: op + "Grad", attrs: with(volumeAttrs(x, strides, p), "ksize", five(window)), outs: []kind{kindOf(a.in[0])}}
			if op == "MaxPool3D" {
				back.attrs["TInput"] = models.GraphType(x.Dtype())
				return apply(a, back, a.in[0], a.out, a.grad)
			}
			back.emit = func(e *emission) []graph.Output { return e.all(e.shapeOf(e.in[0]), e.in[1]) }
			return apply(a, back, a.in[0], a.grad)
		})}, x)
}

// volumes returns the batch, depth, height and width of the output of windows over x.
func volumes(c models.Context, op string, x *G.Node, window, strides [3]int, p Padding) ([]int, bool) {
	out := []int{x.Shape()[0]}
	for i, k := range window {
		if !steps(k, strides[i]) || p.kind == "EXPLICIT" {
			c.Core().Failf("%s: window %v with strides %v and padding %v: expected >= 1 and below 2^31, and Same or Valid (ops.Pad adds zeros)", op, window, strides, p)
			return nil, false
		}
		n := p.output(x.Shape()[1+i], k, strides[i], 0)
		if n < 1 {
			c.Core().Failf("%s: a window of %v does not fit into a volume of shape %v with padding %v", op, window, x.Shape(), p)
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

func five(v [3]int) []int64 { return []int64{1, int64(v[0]), int64(v[1]), int64(v[2]), 1} }

func volumeAttrs(x *G.Node, strides [3]int, p Padding) graph.Attrs {
	return with(typeAttr(x.Dtype()), "data_format", []byte("NDHWC"), "padding", []byte(p.String()), "strides", five(strides))
}
