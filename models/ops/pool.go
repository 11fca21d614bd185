package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// MaxPool returns the largest value in each window of x [batch, height, width, channels].
func MaxPool(c models.Context, x *G.Node, window, strides [2]int, p Padding) *G.Node {
	return pool(c, "MaxPool", x, window, strides, p)
}

// AvgPool returns the mean of each window of x [batch, height, width, channels],
// without the zeros that Same adds.
func AvgPool(c models.Context, x *G.Node, window, strides [2]int, p Padding) *G.Node {
	return pool(c, "AvgPool", x, window, strides, p)
}

func pool(c models.Context, op string, x *G.Node, window, strides [2]int, p Padding) *G.Node {
	if !floats(c, op, x) || !rank(c, op, "images", x, 4) {
		return nil
	}
	if p.kind == "EXPLICIT" {
		c.Core().Failf("%s: explicit padding: expected Same or Valid (ops.Pad adds zeros)", op)
		return nil
	}
	h, w, ok := windows(c, op, x, window, strides, p)
	if !ok {
		return nil
	}
	attrs := with(p.attrs(x, strides), "ksize", []int64{1, int64(window[0]), int64(window[1]), 1})
	s := x.Shape()
	return apply(c, spec{op: op, attrs: attrs, outs: []kind{{x.Dtype(), []int{s[0], h, w, s[3]}}},
		grad: one(func(a *adjoint) *G.Node {
			back := spec{op: op + "Grad", attrs: attrs, outs: []kind{kindOf(a.in[0])}}
			if op == "MaxPool" {
				return apply(a, back, a.in[0], a.out, a.grad)
			}
			back.emit = func(e *emission) []graph.Output { return e.all(e.shapeOf(e.in[0]), e.in[1]) }
			return apply(a, back, a.in[0], a.grad)
		})}, x)
}
