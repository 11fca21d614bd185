package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// Prod multiplies the elements of x.
func Prod(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	return reduce(c, "Prod", x, r, prodGrad)
}

// prodGrad gives each element the product of all others, computed by products from both ends.
func prodGrad(a *adjoint, kept []int) *G.Node {
	x := a.in[0]
	var perm, reduced, back []int
	for i, d := range x.Shape() {
		if kept[i] == d {
			perm = append(perm, i)
		} else {
			reduced = append(reduced, i)
		}
	}
	n, g := 1, Reshape(a, a.grad, kept...)
	for _, i := range reduced {
		n *= x.Shape()[i]
	}
	if len(reduced) == 0 {
		return g
	}
	perm = append(perm, reduced...)
	for i := range perm {
		back = append(back, slices.Index(perm, i))
	}
	moved := permuted(a, x, perm)
	if a.Failed() {
		return nil
	}
	rows := Reshape(a, moved, -1, n)
	others := Mul(a, CumProd(a, rows, -1, Scan{Exclusive: true}), CumProd(a, rows, -1, Scan{Exclusive: true, Reverse: true}))
	return Mul(a, g, permuted(a, reshapeLike(a, others, moved), back))
}

// LogSumExp returns log(sum(exp(x))), without overflow.
func LogSumExp(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	if !floats(c, "LogSumExp", x) {
		return nil
	}
	kept := Reduction{KeepDims: true}
	for _, r := range r {
		kept.Axes = r.Axes
	}
	top := Max(c, x, kept)
	top = StopGradient(c, Where(c, isFinite(c, top), top, scalarLike(c, x, 0)))
	sum := Log(c, Sum(c, Exp(c, Sub(c, x, top)), r...))
	if c.Core().Failed() {
		return nil
	}
	return Add(c, sum, reshapeLike(c, top, sum))
}

func isFinite(c models.Context, x *G.Node) *G.Node {
	if !ready(c, "IsFinite", x) {
		return nil
	}
	return apply(c, spec{op: "IsFinite", attrs: typeAttr(x.Dtype()), outs: []kind{{gtensor.Bool, x.Shape()}}}, x)
}

// Variance returns the mean squared distance from the mean.
func Variance(c models.Context, x *G.Node, r ...Reduction) *G.Node {
	if !floats(c, "Variance", x) {
		return nil
	}
	kept := Reduction{KeepDims: true}
	for _, r := range r {
		kept.Axes = r.Axes
	}
	return Mean(c, Square(c, Sub(c, x, Mean(c, x, kept))), r...)
}

// Std returns the square root of Variance. Its gradient is not finite where Variance is 0.
func Std(c models.Context, x *G.Node, r ...Reduction) *G.Node { return Sqrt(c, Variance(c, x, r...)) }

// AllTrue reports whether all elements of x, bool, hold.
func AllTrue(c models.Context, x *G.Node, r ...Reduction) *G.Node { return reduceBools(c, "All", x, r) }

// AnyTrue reports whether an element of x, bool, holds.
func AnyTrue(c models.Context, x *G.Node, r ...Reduction) *G.Node { return reduceBools(c, "Any", x, r) }

func reduceBools(c models.Context, op string, x *G.Node, r []Reduction) *G.Node {
	if !bools(c, op, x) {
		return nil
	}
	return reduce(c, op, x, r, func(*adjoint, []int) *G.Node { return nil })
}

// ArgMax returns the index of the largest value along an axis, as int64; of equal
// values, the first. It has no gradient.
func ArgMax(c models.Context, x *G.Node, along int) *G.Node { return argExtreme(c, "ArgMax", x, along) }

// ArgMin returns the index of the smallest value along an axis, as int64; of equal
// values, the first. It has no gradient.
func ArgMin(c models.Context, x *G.Node, along int) *G.Node { return argExtreme(c, "ArgMin", x, along) }

func argExtreme(c models.Context, op string, x *G.Node, along int) *G.Node {
	if !ready(c, op, x) {
		return nil
	}
	k, ok := axis(c, op, along, len(x.Shape()))
	if !ok {
		return nil
	}
	_, out := reducedShapes(x.Shape(), []int{k})
	return apply(c, spec{op: op, outs: []kind{{gtensor.Int64, out}}, consts: []operand{scalarInt("dimension", k)},
		attrs: with(typeAttr(x.Dtype()), "Tidx", tensor.Int32, "output_type", tensor.Int64)}, x)
}
