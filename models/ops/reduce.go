package ops

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Reduction says which dimensions a reduction reduces; without one, all.
type Reduction struct {
	Axes     []int // negative ones count from the last; empty: all
	KeepDims bool  // keep reduced dimensions as 1
}

// Axes reduces over the given axes.
func Axes(axes ...int) Reduction { return Reduction{Axes: axes} }

// KeepAxes reduces over the given axes and keeps them as dimensions of 1.
func KeepAxes(axes ...int) Reduction { return Reduction{Axes: axes, KeepDims: true} }

// Sum adds up x.
func Sum(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	return reduce(c, "Sum", x, r, func(a *adjoint, kept []int) *G.Node { return spread(a, kept, false) })
}

// Mean returns the arithmetic mean of x. Its gradient divides by a count that is
// computed at run time, so that it is correct for partial batches.
func Mean(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	return reduce(c, "Mean", x, r, func(a *adjoint, kept []int) *G.Node { return spread(a, kept, true) })
}

// Max returns the largest value of x; equal largest values share the gradient.
func Max(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	return reduce(c, "Max", x, r, extremeGrad)
}

// Min returns the smallest value of x; equal smallest values share the gradient.
func Min(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	return reduce(c, "Min", x, r, extremeGrad)
}

func reduce(c models.Context, op string, x *G.Node, rs []Reduction, grad func(a *adjoint, kept []int) *G.Node) *G.Node {
	if !ready(c, op, x) {
		return nil
	}
	if len(rs) > 1 {
		c.Core().Failf("%s: %d reductions: expected at most one", op, len(rs))
		return nil
	}
	var r Reduction
	if len(rs) == 1 {
		r = rs[0]
	}
	axes, ok := axesOf(c, op, r.Axes, len(x.Shape()))
	if !ok {
		return nil
	}
	kept, out := reducedShapes(x.Shape(), axes)
	if r.KeepDims {
		out = kept
	}
	attrs := typeAttr(x.Dtype())
	if models.GraphType(x.Dtype()) == tensor.Bool {
		delete(attrs, "T") // All and Any are only for bool
	}
	return apply(c, spec{op: op, outs: []kind{{x.Dtype(), out}},
		attrs:  with(attrs, "Tidx", tensor.Int32, "keep_dims", r.KeepDims),
		consts: []operand{vector("reduction_indices", axes...)},
		grad:   one(func(a *adjoint) *G.Node { return grad(a, kept) })}, x)
}

// reducedShapes returns the shape with the axes as 1 and without them.
func reducedShapes(shape, axes []int) (kept, out []int) {
	out = []int{}
	for i, d := range shape {
		if slices.Contains(axes, i) {
			kept = append(kept, 1)
			continue
		}
		kept, out = append(kept, d), append(out, d)
	}
	return kept, out
}

// spread is the gradient of Sum and Mean: the result's gradient broadcast to the
// operand's shape, and for Mean divided by the number of averaged elements.
func spread(a *adjoint, kept []int, mean bool) *G.Node {
	g := Reshape(a, a.grad, kept...)
	if a.Failed() {
		return nil
	}
	return apply(a, spec{op: "BroadcastTo", attrs: with(typeAttr(g.Dtype()), "Tidx", tensor.Int32),
		outs: []kind{kindOf(a.in[0])}, emit: func(e *emission) []graph.Output {
			g, x, y := e.in[0], e.in[1], e.in[2]
			if mean {
				t := graph.Type{DType: x.DType()}
				n := e.Op("RealDiv", e.Name+"/count", t, graph.Attrs{"T": x.DType()}, e.count(x), e.count(y))
				g = e.Op("RealDiv", e.Name+"/truediv", g.Type(), graph.Attrs{"T": x.DType()}, g, n)
			}
			return e.all(g, e.shapeOf(x))
		}}, g, a.in[0], a.out)
}

// extremeGrad shares the gradient of Max and Min between equal extremes.
func extremeGrad(a *adjoint, kept []int) *G.Node {
	x := a.in[0]
	y, g := Reshape(a, a.out, kept...), Reshape(a, a.grad, kept...)
	hit := Cast(a, Equal(a, x, y), models.GraphType(x.Dtype()))
	var axes []int
	for i, d := range kept {
		if d == 1 {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		return g
	}
	return Mul(a, Div(a, hit, Sum(a, hit, KeepAxes(axes...))), g)
}

// L2Loss returns sum(x²)/2.
func L2Loss(c models.Context, x *G.Node) *G.Node {
	if !floats(c, "L2Loss", x) {
		return nil
	}
	return apply(c, spec{op: "L2Loss", attrs: typeAttr(x.Dtype()), outs: []kind{{x.Dtype(), []int{}}},
		grad: one(func(a *adjoint) *G.Node { return Mul(a, a.in[0], a.grad) })}, x)
}
