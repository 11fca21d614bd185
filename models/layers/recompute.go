package layers

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Recompute returns f(x). In training, the values inside f are not kept but computed a
// second time for the gradients: see models.Builder.Recompute. It corresponds to
// torch.utils.checkpoint and tf.recompute_grad. f may make variables, and use dropout and
// batch normalization.
func Recompute(c models.Context, x *G.Node, f func(x *G.Node) *G.Node) (y *G.Node) {
	if !usable(c, "recompute", x) {
		return nil
	}
	c.Core().Recompute(func() { y = f(x) })
	return y
}
