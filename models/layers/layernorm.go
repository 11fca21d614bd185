package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// LayerNorm normalises x over its last dimension, example by example (Ba et
// al. 2016), with the variables layer_normalization/gamma and /beta.
func LayerNorm(c models.Context, x *G.Node, o Norm) (y *G.Node) {
	if !usable(c, "layer_normalization", x, 2, 3, 4) {
		return nil
	}
	scope(c, o.Name, "layer_normalization", func() {
		gamma, beta := o.affine(c, x.Shape()[len(x.Shape())-1])
		mean, variance := moments(c, x, ops.KeepAxes(-1))
		y = standardize(c, x, affineOf{mean, variance, gamma, beta, orDefault(o.Epsilon, 1e-3)})
	})
	return y
}
