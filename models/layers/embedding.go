package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Embedding looks integer ids of any shape, each in 0..rows-1, up in the
// variable embedding/embeddings [rows, width]: shape ids + [width]. Its gradient
// stays sparse. There is no bias; the other options of Weights apply.
func Embedding(c models.Context, ids *G.Node, rows, width int, w Weights) (y *G.Node) {
	if !usable(c, "embedding", ids) || !positive(c, "embedding", "rows", rows) || !positive(c, "embedding", "width", width) {
		return nil
	}
	scope(c, w.Name, "embedding", func() {
		y = ops.Gather(c, w.kernel(c, "embeddings", rows, width), ids)
		if w.Activation != nil {
			y = w.Activation(c, y)
		}
	})
	return y
}
