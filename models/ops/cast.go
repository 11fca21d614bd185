package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Cast converts x to another element type; an x of that type is returned unchanged.
// Only casts between float types have a gradient.
func Cast(c models.Context, x *G.Node, to tensor.DType) *G.Node {
	if !ready(c, "Cast", x) {
		return nil
	}
	from := models.GraphType(x.Dtype())
	if from == to {
		return x
	}
	dt, err := models.GorgoniaType(to)
	if err != nil {
		c.Core().Failf("Cast: %w", err)
		return nil
	}
	s := spec{op: "Cast", attrs: graph.Attrs{"SrcT": from, "DstT": to, "Truncate": false}, outs: []kind{{dt, x.Shape()}}}
	if to.Float() {
		s.grad = one(func(a *adjoint) *G.Node { return Cast(a, a.grad, from) })
	}
	return apply(c, s, x)
}

// Identity returns x under a new node.
func Identity(c models.Context, x *G.Node) *G.Node {
	if !ready(c, "Identity", x) {
		return nil
	}
	return apply(c, spec{op: "Identity", attrs: typeAttr(x.Dtype()), outs: []kind{kindOf(x)},
		grad: one(func(a *adjoint) *G.Node { return a.grad })}, x)
}

// StopGradient returns x, through which no gradient flows.
func StopGradient(c models.Context, x *G.Node) *G.Node {
	if !ready(c, "StopGradient", x) {
		return nil
	}
	return apply(c, spec{op: "StopGradient", attrs: typeAttr(x.Dtype()), outs: []kind{kindOf(x)}}, x)
}
