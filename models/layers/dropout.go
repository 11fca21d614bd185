package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Dropout in Train sets the fraction rate of x to zero and scales the rest by
// 1/(1-rate). In the other modes, and for rate 0, it returns x. The dropped elements
// depend on the model's seed, the layer's name and the global step.
func Dropout(c models.Context, x *G.Node, rate float64) (y *G.Node) {
	if !usable(c, "dropout", x) {
		return nil
	}
	if !(rate >= 0 && rate < 1) { // rejects NaN too
		c.Core().Failf("dropout: rate %v: expected 0 <= rate < 1", rate)
		return nil
	}
	if rate == 0 || !c.Core().Training() {
		return x
	}
	scope(c, "", "dropout", func() { y = ops.Dropout(c, x, rate) })
	return y
}
