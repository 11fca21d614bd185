package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// compare applies a broadcasting op that gives bool; it has no gradient.
func compare(c models.Context, op string, attrs graph.Attrs, x, y *G.Node) *G.Node {
	if !sameType(c, op, x, y) {
		return nil
	}
	shape, ok := broadcast(x.Shape(), y.Shape())
	if !ok {
		c.Core().Failf("%s: shapes %v and %v do not broadcast", op, x.Shape(), y.Shape())
		return nil
	}
	if attrs == nil {
		attrs = typeAttr(x.Dtype())
	}
	return apply(c, spec{op: op, attrs: attrs, outs: []kind{{tensor.Bool, shape}}}, x, y)
}

// Equal returns x == y as bool.
func Equal(c models.Context, x, y *G.Node) *G.Node { return equality(c, "Equal", x, y) }

// NotEqual returns x != y as bool.
func NotEqual(c models.Context, x, y *G.Node) *G.Node { return equality(c, "NotEqual", x, y) }

func equality(c models.Context, op string, x, y *G.Node) *G.Node {
	if !sameType(c, op, x, y) {
		return nil
	}
	return compare(c, op, with(typeAttr(x.Dtype()), "incompatible_shape_error", true), x, y)
}

// Less returns x < y as bool.
func Less(c models.Context, x, y *G.Node) *G.Node { return compare(c, "Less", nil, x, y) }

// LessEqual returns x <= y as bool.
func LessEqual(c models.Context, x, y *G.Node) *G.Node { return compare(c, "LessEqual", nil, x, y) }

// Greater returns x > y as bool.
func Greater(c models.Context, x, y *G.Node) *G.Node { return compare(c, "Greater", nil, x, y) }

// GreaterEqual returns x >= y as bool.
func GreaterEqual(c models.Context, x, y *G.Node) *G.Node {
	return compare(c, "GreaterEqual", nil, x, y)
}

// LogicalAnd returns x && y of bool operands.
func LogicalAnd(c models.Context, x, y *G.Node) *G.Node { return logical(c, "LogicalAnd", x, y) }

// LogicalOr returns x || y of bool operands.
func LogicalOr(c models.Context, x, y *G.Node) *G.Node { return logical(c, "LogicalOr", x, y) }

func logical(c models.Context, op string, x, y *G.Node) *G.Node {
	if !bools(c, op, x, y) {
		return nil
	}
	return compare(c, op, graph.Attrs{}, x, y)
}

// LogicalNot returns !x of a bool operand.
func LogicalNot(c models.Context, x *G.Node) *G.Node {
	if !bools(c, "LogicalNot", x) {
		return nil
	}
	return apply(c, spec{op: "LogicalNot", attrs: graph.Attrs{}, outs: []kind{kindOf(x)}}, x)
}

func bools(c models.Context, op string, in ...*G.Node) bool {
	if !ready(c, op, in...) {
		return false
	}
	for i, n := range in {
		if n.Dtype() != tensor.Bool {
			c.Core().Failf("%s: operand %d is %v: expected bool", op, i, n.Dtype())
			return false
		}
	}
	return true
}

// Where returns x where cond (bool) holds, else y, broadcasting (TensorFlow's SelectV2).
func Where(c models.Context, cond, x, y *G.Node) *G.Node {
	if !sameType(c, "SelectV2", x, y) || !bools(c, "SelectV2", cond) {
		return nil
	}
	shape, ok := broadcast(x.Shape(), y.Shape())
	if ok {
		shape, ok = broadcast(shape, cond.Shape())
	}
	if !ok {
		c.Core().Failf("SelectV2: shapes %v, %v and %v do not broadcast", cond.Shape(), x.Shape(), y.Shape())
		return nil
	}
	return apply(c, spec{op: "SelectV2", attrs: typeAttr(x.Dtype()), outs: []kind{{x.Dtype(), shape}}, grad: func(a *adjoint) []*G.Node {
		zero := scalarLike(a, a.grad, 0)
		dx, dy := Where(a, a.in[0], a.grad, zero), Where(a, a.in[0], zero, a.grad)
		return []*G.Node{nil, reduceLike(a, dx, a.in[1]), reduceLike(a, dy, a.in[2])}
	}}, cond, x, y)
}
