package layers

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Dense returns activation(x·kernel + bias) for x [batch, ..., features]:
// [batch, ..., units].
func Dense(c models.Context, x *G.Node, units int, w Weights) (y *G.Node) {
	if !usable(c, "dense", x) || !positive(c, "dense", "units", units) {
		return nil
	}
	shape := x.Shape()
	if len(shape) < 2 {
		c.Core().Failf("dense: the input has shape %v: expected [batch, features]", shape)
		return nil
	}
	features := shape[len(shape)-1]
	scope(c, w.Name, "dense", func() {
		kernel := w.kernel(c, "kernel", features, units)
		if len(shape) == 2 {
			y = w.finish(c, ops.MatMul(c, x, kernel), units)
			return
		}
		flat := ops.MatMul(c, ops.Reshape(c, x, -1, features), kernel)
		y = w.finish(c, ops.Reshape(c, flat, slices.Concat(shape[:len(shape)-1], []int{units})...), units)
	})
	return y
}

func positive(c models.Context, layer, what string, n int) bool {
	if n < 1 {
		c.Core().Failf("%s: %s is %d: expected >= 1", layer, what, n)
	}
	return n >= 1
}
