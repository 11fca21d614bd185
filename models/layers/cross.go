package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Cross is a layer of a deep and cross network (Wang et al., "DCN V2", 2021): first * (x·kernel + bias) + x, where first is the
// input of the first layer and x the output of the previous one, both [batch, width]. Each layer adds products of one more
// feature. Variables are cross/kernel [width, width] and cross/bias.
func Cross(c models.Context, first, x *G.Node, w Weights) (y *G.Node) {
	if !usable(c, "cross", first, 2) || !usable(c, "cross", x, 2) {
		return nil
	}
	scope(c, w.Name, "cross", func() {
		width := x.Shape()[1]
		factor := w.finish(c, ops.MatMul(c, x, w.kernel(c, "kernel", width, width)), width)
		y = ops.Add(c, ops.Mul(c, first, factor), x)
	})
	return y
}
