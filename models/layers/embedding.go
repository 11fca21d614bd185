package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Embedding looks up integer ids of any shape, each in 0..rows-1, in the variable
// embedding/embeddings [rows, width]. The result has shape ids + [width]. The gradient
// is sparse. There is no bias; the other options of Weights apply.
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

// EmbeddingTable makes the variable embeddings [rows, width] in the scope token_embedding, or the one
// that Weights name. Tokens and TokenLogits take it: a language model shares it between input and output.
func EmbeddingTable(c models.Context, rows, width int, w Weights) (table *G.Node) {
	const name = "token_embedding"
	if !positive(c, name, "rows", rows) || !positive(c, name, "width", width) {
		return nil
	}
	scope(c, w.Name, name, func() { table = w.kernel(c, "embeddings", rows, width) })
	return table
}

// Tokens looks up integer ids of any shape in a table. The result has shape ids +
// [width]. The gradient is dense, as for TokenLogits.
func Tokens(c models.Context, table, ids *G.Node) *G.Node { return ops.GatherAxis(c, table, ids, 0) }

// TokenLogits returns x [..., width] times each row of a table: [..., rows].
func TokenLogits(c models.Context, table, x *G.Node) *G.Node {
	if !usable(c, "token_logits", x) || !usable(c, "token_logits", table, 2) {
		return nil
	}
	rows, s := table.Shape()[0], append([]int{}, x.Shape()...)
	flat := ops.MatMulT(c, ops.Reshape(c, x, -1, table.Shape()[1]), table, false, true)
	s[len(s)-1] = rows
	return ops.Reshape(c, flat, s...)
}
