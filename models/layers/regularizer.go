package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// L1 penalises a variable with scale·sum(|w|), as Keras does.
func L1(scale float64) models.Regularizer { return L1L2(scale, 0) }

// L2 penalises a variable with scale·sum(w²), as Keras does (twice
// tf.contrib's, which halves the sum).
func L2(scale float64) models.Regularizer { return L1L2(0, scale) }

// L1L2 penalises a variable with l1·sum(|w|) + l2·sum(w²). If both are zero there is no
// penalty.
func L1L2(l1, l2 float64) models.Regularizer {
	return func(c models.Context, w *G.Node) *G.Node {
		if c.Core().Failed() {
			return nil
		}
		d := models.GraphType(w.Dtype())
		var loss *G.Node
		c.Core().Scope("regularizer", func() {
			if l1 != 0 {
				loss = ops.Mul(c, ops.Sum(c, ops.Abs(c, w)), ops.Scalar(c, d, l1))
			}
			if l2 == 0 {
				return
			}
			// Twice L2Loss, exactly: its gradient takes one pass over w.
			squares := ops.Mul(c, ops.L2Loss(c, w), ops.Scalar(c, d, 2*l2))
			if loss == nil {
				loss = squares
			} else {
				loss = ops.Add(c, loss, squares)
			}
		})
		return loss
	}
}
