package layers

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Recompute returns f(x). In training, the values inside of f are computed a second
// time for its gradients, in place of being kept: models.Builder.Recompute. It is
// torch.utils.checkpoint and tf.recompute_grad for layers: f may make variables, drop
// elements and normalize batches.
func Recompute(c models.Context, x *G.Node, f func(x *G.Node) *G.Node) (y *G.Node) {
	if !usable(c, "recompute", x) {
		return nil
	}
	c.Core().Recompute(func() { y = f(x) })
	return y
}
