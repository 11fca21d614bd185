package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Dropout sets the fraction rate (0 <= rate < 1) of x to zero and multiplies the
// rest by 1/(1-rate), in every mode; layers.Dropout does so only in Train.
func Dropout(c models.Context, x *G.Node, rate float64) *G.Node {
	if !floats(c, "Dropout", x) {
		return nil
	}
	if !(rate >= 0 && rate < 1) { // rejects NaN too
		c.Core().Failf("Dropout: rate %v: expected 0 <= rate < 1", rate)
		return nil
	}
	keep := Cast(c, GreaterEqual(c, RandomUniform(c, x), scalarLike(c, x, rate)), models.GraphType(x.Dtype()))
	return Mul(c, x, Mul(c, keep, scalarLike(c, x, 1/(1-rate))))
}
