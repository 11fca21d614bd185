package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// BiasAdd adds bias [channels] to the last dimension of x.
func BiasAdd(c models.Context, x, bias *G.Node) *G.Node {
	if !floats(c, "BiasAdd", x, bias) || !rank(c, "BiasAdd", "bias", bias, 1) {
		return nil
	}
	xs := x.Shape()
	if len(xs) < 2 || xs[len(xs)-1] != bias.Shape()[0] {
		c.Core().Failf("BiasAdd: shape %v and bias %v: expected rank >= 2 with as many channels last", xs, bias.Shape())
		return nil
	}
	attrs := with(typeAttr(x.Dtype()), "data_format", []byte("NHWC"))
	return apply(c, spec{op: "BiasAdd", attrs: attrs, outs: []kind{kindOf(x)}, grad: func(a *adjoint) []*G.Node {
		return []*G.Node{a.grad, apply(a, spec{op: "BiasAddGrad", attrs: attrs, outs: []kind{kindOf(a.in[1])}}, a.grad)}
	}}, x, bias)
}
