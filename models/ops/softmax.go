package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Softmax returns e^x normalised over the last dimension.
func Softmax(c models.Context, x *G.Node) *G.Node {
	if !classes(c, "Softmax", x) {
		return nil
	}
	return unary(c, "Softmax", x, func(a *adjoint) *G.Node {
		sum := Sum(a, Mul(a, a.grad, a.out), KeepAxes(-1))
		return Mul(a, Sub(a, a.grad, sum), a.out)
	})
}

// LogSoftmax returns log(softmax(x)) over the last dimension.
func LogSoftmax(c models.Context, x *G.Node) *G.Node {
	if !classes(c, "LogSoftmax", x) {
		return nil
	}
	return unary(c, "LogSoftmax", x, func(a *adjoint) *G.Node {
		return Sub(a, a.grad, Mul(a, Sum(a, a.grad, KeepAxes(-1)), Exp(a, a.out)))
	})
}

func classes(c models.Context, op string, x *G.Node) bool {
	if !ready(c, op, x) {
		return false
	}
	if len(x.Shape()) == 0 {
		c.Core().Failf("%s: the operand is a scalar: expected rank >= 1", op)
		return false
	}
	return true
}
