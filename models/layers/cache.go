package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Cache holds the keys and values of a self-attention, to continue a text one position at a time (Heads.Cache). Without
// a Position, MultiHeadAttention sets Keys and Values for all positions of its input. With one, its input is that single
// position: it writes the position's keys and values into the cache, and attends to positions 0..Position.
type Cache struct {
	Keys, Values *G.Node // [batch, context, heads, dim]
	Position     *G.Node // int32 [batch]: the input's position in the text
}

// steps reports whether m continues a text by one position.
func (m *Cache) steps() bool { return m != nil && m.Position != nil }

// filled reports whether m has keys and values.
func (m *Cache) filled() bool {
	return m.Keys != nil && m.Values != nil && len(m.Keys.Shape()) == 4 && len(m.Values.Shape()) == 4
}

// step writes the keys and values of one position into the cache. It returns a mask of the visible positions.
func (m *Cache) step(c models.Context, k, v *G.Node) (seen *G.Node) {
	if c.Core().Failed() {
		return nil
	}
	context := m.Keys.Shape()[1]
	places := tensor.New(tensor.Int32, 1, context)
	for i := range context {
		tensor.Values[int32](places)[i] = int32(i)
	}
	all, here := ops.Constant(c, places), ops.ExpandDims(c, m.Position, 1)
	at := ops.ExpandDims(c, ops.ExpandDims(c, ops.Equal(c, all, here), 2), 3)
	m.Keys, m.Values = ops.Where(c, at, k, m.Keys), ops.Where(c, at, v, m.Values)
	return ops.ExpandDims(c, ops.ExpandDims(c, ops.LessEqual(c, all, here), 1), 1)
}

// LearnedPositionsAt is LearnedPositions for x [batch, 1, width] at one position of each text: int32 [batch], in
// 0..rows-1.
func LearnedPositionsAt(c models.Context, x, position *G.Node, rows int, w Weights) (y *G.Node) {
	const name = "position_embedding"
	if !usable(c, name, x, 3) || !usable(c, name, position, 1) {
		return nil
	}
	scope(c, w.Name, name, func() {
		all := w.kernel(c, "embeddings", rows, x.Shape()[2])
		y = ops.Add(c, x, ops.ExpandDims(c, ops.GatherAxis(c, all, position, 0), 1))
	})
	return y
}
