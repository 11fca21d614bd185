package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Flatten gives x the shape [batch, rest].
func Flatten(c models.Context, x *G.Node) (y *G.Node) {
	scope(c, "", "flatten", func() { y = ops.Flatten(c, x) })
	return y
}
