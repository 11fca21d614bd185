package networks

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// GPT is a language model: each position of a text predicts the next token (Radford et al. 2019). Positions are
// learned, and the result is computed with the embedding of the tokens.
type GPT struct {
	Vocabulary int // ids are 0..Vocabulary-1
	Context    int // positions, the longest text
	Layers     int
	Heads      int
	Width      int // a multiple of Heads
	Dropout    float64
	Recompute  bool // the gradients compute each block again: less memory, more time
}

// Logits returns, for ids [batch, length] of any integer type, how likely each token comes
// after each position: [batch, length, Vocabulary]. Kernels and embeddings begin with a standard deviation of 0.02.
func (g GPT) Logits(c models.Context, ids *G.Node) *G.Node {
	return g.logits(c, ids, func(x *G.Node) *G.Node { return x })
}

// NextLogits is Logits after the last position alone: [batch, Vocabulary].
func (g GPT) NextLogits(c models.Context, ids *G.Node) *G.Node {
	return g.logits(c, ids, func(x *G.Node) *G.Node {
		if x == nil {
			return nil
		}
		last := x.Shape()[1] - 1
		return ops.Squeeze(c, ops.Slice(c, x, []int{0, last, 0}, []int{-1, 1, -1}), 1)
	})
}

func (g GPT) logits(c models.Context, ids *G.Node, pick func(x *G.Node) *G.Node) *G.Node {
	if !g.usable(c, ids) {
		return nil
	}
	table := g.table(c)
	return layers.TokenLogits(c, table, pick(g.blocks().apply(c, g.embedded(c, table, tokens(c, ids)), nil)))
}

// usable reports a network without ids, or with sizes that do not fit.
func (g GPT) usable(c models.Context, ids *G.Node) bool {
	if c.Core().Failed() {
		return false
	}
	if ids == nil || g.Vocabulary < 1 || g.Context < 1 || g.Layers < 1 || g.Heads < 1 || g.Width%g.Heads != 0 || g.Width < g.Heads {
		c.Core().Failf("gpt: %+v: expected ids, sizes >= 1 and a width that is a multiple of the heads", g)
		return false
	}
	return true
}

func (g GPT) blocks() blocks {
	return blocks{layers: g.Layers, heads: g.Heads, width: g.Width, mlpRatio: 4, dropout: g.Dropout, causal: true, init: g.weights().KernelInit,
		recompute: g.Recompute}
}

func (g GPT) weights() layers.Weights {
	return layers.Weights{KernelInit: initializers.RandomNormal{Stddev: 0.02}}
}

func (g GPT) table(c models.Context) *G.Node {
	return layers.EmbeddingTable(c, g.Vocabulary, g.Width, g.weights())
}

// embedded is what the blocks take of int32 ids [batch, length].
func (g GPT) embedded(c models.Context, table, ids *G.Node) *G.Node {
	x := layers.LearnedPositions(c, layers.Tokens(c, table, ids), g.Context, g.weights())
	return layers.Dropout(c, x, g.Dropout)
}

// gpt predicts the token after a text: GPT.NextLogits, with a vocabulary of as many tokens as there are outputs. Parameters: context
// (0: as long as the feature), and all of newBlocks' but mlp_ratio.
func gpt(p *Params) Network {
	g := GPT{Context: p.Int("context", 0, 0), Layers: p.Int("layers", 4, 1), Heads: p.Int("heads", 4, 1), Width: p.Int("width", 128, 1), Dropout: p.Rate("dropout", 0.1),
		Recompute: p.Bool("recompute", false)}
	if g.Width%g.Heads != 0 {
		p.Refuse("width", fmt.Errorf("%d is no multiple of the %d heads", g.Width, g.Heads))
	}
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		if c.Core().Failed() {
			return nil
		}
		if f.Len() != 1 || f.All()[0].Dense == nil || len(f.All()[0].Dense.Shape()) != 2 {
			c.Core().Failf("gpt takes one feature, integer ids [batch, length]: the input has %d", f.Len())
			return nil
		}
		ids := f.All()[0].Dense
		model := g // a network is built several times
		model.Vocabulary = outputs
		if model.Context == 0 {
			model.Context = ids.Shape()[1]
		}
		return model.NextLogits(c, ids)
	}
}
