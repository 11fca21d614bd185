package networks

import (
	"cmp"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// TextSize returns the size of the vocabulary, and the greatest length of a text.
func (g GPT) TextSize() (vocabulary, context int) { return g.Vocabulary, g.Context }

// CacheShapes returns the shapes of what Prefill returns for one text: for each block keys, then values, [Context, KVHeads, Width/Heads].
func (g GPT) CacheShapes() [][]int {
	var all [][]int
	for range 2 * g.Layers {
		all = append(all, []int{g.Context, cmp.Or(g.KVHeads, g.Heads), g.Width / g.Heads})
	}
	return all
}

// Prefill reads texts, ids [batch, Context], and returns the keys and values of all their positions, for Step. Ids
// after the end of a text do not matter, since Step overwrites each position before it reads it.
func (g GPT) Prefill(c models.Context, ids *G.Node) []*G.Node {
	if !g.usable(c, ids) {
		return nil
	}
	o := g.blocks()
	o.caches = make([]layers.Cache, g.Layers)
	o.apply(c, g.embedded(c, g.table(c), tokens(c, ids)), nil)
	return cached(o.caches)
}

// Step continues texts by a token, int32 [batch], each at a position, int32 [batch], in 0..Context-1. It returns the
// logits of the next token, [batch, Vocabulary], and the cache with that position.
func (g GPT) Step(c models.Context, token, position *G.Node, cache []*G.Node) (logits *G.Node, next []*G.Node) {
	if !g.usable(c, token) {
		return nil, nil
	}
	if position == nil || len(cache) != 2*g.Layers {
		c.Core().Failf("gpt: %d nodes of a cache: expected a position and %d nodes", len(cache), 2*g.Layers)
		return nil, nil
	}
	o := g.blocks()
	for i := range g.Layers {
		o.caches = append(o.caches, layers.Cache{Keys: cache[2*i], Values: cache[2*i+1], Position: position})
	}
	table := g.table(c)
	x := layers.Tokens(c, table, ops.ExpandDims(c, token, 1))
	if g.Rotary == 0 {
		x = layers.LearnedPositionsAt(c, x, position, g.Context, g.weights())
	}
	x = o.apply(c, x, nil)
	return ops.Squeeze(c, layers.TokenLogits(c, table, x), 1), cached(o.caches)
}

// cached returns the nodes of caches.
func cached(all []layers.Cache) (nodes []*G.Node) {
	for _, m := range all {
		nodes = append(nodes, m.Keys, m.Values)
	}
	return nodes
}
