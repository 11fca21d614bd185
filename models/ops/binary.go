package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// binary applies a broadcasting op of two operands of one type.
func binary(c models.Context, op string, x, y *G.Node, grad func(a *adjoint) (dx, dy *G.Node)) *G.Node {
	if !sameType(c, op, x, y) {
		return nil
	}
	shape, ok := broadcast(x.Shape(), y.Shape())
	if !ok {
		c.Core().Failf("%s: shapes %v and %v do not broadcast: expected equal dimensions or 1, counted from the last", op, x.Shape(), y.Shape())
		return nil
	}
	return apply(c, spec{op: op, attrs: typeAttr(x.Dtype()), outs: []kind{{x.Dtype(), shape}}, grad: func(a *adjoint) []*G.Node {
		dx, dy := grad(a)
		return []*G.Node{reduceLike(a, dx, a.in[0]), reduceLike(a, dy, a.in[1])}
	}}, x, y)
}

// broadcast returns the shape that x and y broadcast to.
func broadcast(x, y []int) ([]int, bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	out := append([]int{}, x...)
	off := len(x) - len(y)
	for i, d := range y {
		switch e := x[off+i]; {
		case e == 1:
			out[off+i] = d
		case d != 1 && d != e:
			return nil, false
		}
	}
	return out, true
}

// reduceLike sums g over the dimensions in which x was broadcast. A nil g stays nil.
func reduceLike(c models.Context, g, x *G.Node) *G.Node {
	if g == nil || c.Core().Failed() {
		return nil
	}
	gs, xs := g.Shape(), x.Shape()
	var axes []int
	off := len(gs) - len(xs)
	for i, d := range gs {
		if i < off || xs[i-off] != d {
			axes = append(axes, i)
		}
	}
	if len(axes) > 0 {
		g = Sum(c, g, Axes(axes...))
	}
	if g == nil || len(g.Shape()) == len(xs) {
		return g
	}
	return reshapeLike(c, g, x)
}

// Add returns x + y.
func Add(c models.Context, x, y *G.Node) *G.Node {
	return binary(c, "AddV2", x, y, func(a *adjoint) (dx, dy *G.Node) { return a.grad, a.grad })
}

// Sub returns x - y.
func Sub(c models.Context, x, y *G.Node) *G.Node {
	return binary(c, "Sub", x, y, func(a *adjoint) (dx, dy *G.Node) { return a.grad, Neg(a, a.grad) })
}

// Mul returns the elementwise product.
func Mul(c models.Context, x, y *G.Node) *G.Node {
	return binary(c, "Mul", x, y, func(a *adjoint) (dx, dy *G.Node) {
		return Mul(a, a.grad, a.in[1]), Mul(a, a.grad, a.in[0])
	})
}

// Div returns x / y in floating point (TensorFlow's RealDiv).
func Div(c models.Context, x, y *G.Node) *G.Node {
	if !floats(c, "RealDiv", x, y) {
		return nil
	}
	return binary(c, "RealDiv", x, y, func(a *adjoint) (dx, dy *G.Node) {
		x, y := a.in[0], a.in[1]
		return Div(a, a.grad, y), Mul(a, a.grad, Div(a, Div(a, Neg(a, x), y), y))
	})
}

// DivNoNan returns x / y, and 0 where y is 0.
func DivNoNan(c models.Context, x, y *G.Node) *G.Node {
	if !floats(c, "DivNoNan", x, y) {
		return nil
	}
	return binary(c, "DivNoNan", x, y, func(a *adjoint) (dx, dy *G.Node) {
		x, y := a.in[0], a.in[1]
		return DivNoNan(a, a.grad, y), Mul(a, a.grad, DivNoNan(a, DivNoNan(a, Neg(a, x), y), y))
	})
}

// Maximum returns the larger of x and y; where equal, x gets the gradient.
func Maximum(c models.Context, x, y *G.Node) *G.Node {
	return binary(c, "Maximum", x, y, func(a *adjoint) (dx, dy *G.Node) {
		return split(a, GreaterEqual(a, a.in[0], a.in[1]))
	})
}

// Minimum returns the smaller of x and y; where equal, x gets the gradient.
func Minimum(c models.Context, x, y *G.Node) *G.Node {
	return binary(c, "Minimum", x, y, func(a *adjoint) (dx, dy *G.Node) {
		return split(a, LessEqual(a, a.in[0], a.in[1]))
	})
}

// split routes the gradient to x where first holds, else to y.
func split(a *adjoint, first *G.Node) (dx, dy *G.Node) {
	zero := scalarLike(a, a.grad, 0)
	return Where(a, first, a.grad, zero), Where(a, first, zero, a.grad)
}

// SquaredDifference returns (x - y)².
func SquaredDifference(c models.Context, x, y *G.Node) *G.Node {
	return binary(c, "SquaredDifference", x, y, func(a *adjoint) (dx, dy *G.Node) {
		d := Mul(a, Mul(a, a.grad, scalarLike(a, a.grad, 2)), Sub(a, a.in[0], a.in[1]))
		return d, Neg(a, d)
	})
}

// Pow returns x^y.
func Pow(c models.Context, x, y *G.Node) *G.Node {
	if !floats(c, "Pow", x, y) {
		return nil
	}
	return binary(c, "Pow", x, y, func(a *adjoint) (dx, dy *G.Node) {
		x, y := a.in[0], a.in[1]
		positive := Greater(a, x, scalarLike(a, x, 0))
		log := Where(a, positive, Log(a, Where(a, positive, x, scalarLike(a, x, 1))), scalarLike(a, x, 0))
		return Mul(a, Mul(a, a.grad, y), Pow(a, x, Sub(a, y, scalarLike(a, y, 1)))), Mul(a, Mul(a, a.grad, a.out), log)
	})
}

// ClipByValue limits x to low..high (Minimum, then Maximum, as in TensorFlow).
func ClipByValue(c models.Context, x *G.Node, low, high float64) *G.Node {
	return Maximum(c, Minimum(c, x, scalarLike(c, x, high)), scalarLike(c, x, low))
}
