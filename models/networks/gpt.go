package networks

import (
	"cmp"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// GPT is a language model: each position of a text predicts the next token (Radford et al. 2019). Positions are
// learned unless they are rotary. Logits use the embedding of the tokens. With Rotary, RMSNorm, Gated and KVHeads its
// blocks are Llama's (Touvron et al. 2023), with biases.
type GPT struct {
	Vocabulary int // ids are 0..Vocabulary-1
	Context    int // positions: the length of the longest text
	Layers     int
	Heads      int
	Width      int // a multiple of Heads
	Dropout    float64
	Recompute  bool // the gradients compute each block again: less memory, more time

	MLPRatio int     // width of the dense layers in between, in multiples of Width; 0: 4
	KVHeads  int     // heads of keys and values, a divisor of Heads; fewer make a smaller cache; 0: Heads
	Rotary   float64 // base of rotary positions, such as 10000; 0: learned positions
	RMSNorm  bool    // in place of LayerNorm
	Gated    bool    // SwiGLU in place of a dense layer with GELU
}

// Logits returns, for ids [batch, length] of any integer type, the logits of the token after each
// position: [batch, length, Vocabulary]. Kernels and embeddings start with a standard deviation of 0.02.
func (g GPT) Logits(c models.Context, ids *G.Node) *G.Node {
	return g.logits(c, ids, func(x *G.Node) *G.Node { return x })
}

// NextLogits is Logits only for the last position: [batch, Vocabulary].
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

// usable fails without ids, or for sizes that do not fit.
func (g GPT) usable(c models.Context, ids *G.Node) bool {
	if c.Core().Failed() {
		return false
	}
	if ids == nil || g.Vocabulary < 1 || g.Context < 1 || g.Layers < 1 || g.Heads < 1 || g.Width%g.Heads != 0 || g.Width < g.Heads ||
		g.MLPRatio < 0 || g.KVHeads < 0 || g.KVHeads > 0 && g.Heads%g.KVHeads != 0 {
		c.Core().Failf("gpt: %+v: expected ids, sizes >= 1, Width a multiple of Heads, and Heads a multiple of KVHeads", g)
		return false
	}
	return true
}

func (g GPT) blocks() blocks {
	return blocks{layers: g.Layers, heads: g.Heads, kvHeads: g.KVHeads, width: g.Width, mlpRatio: cmp.Or(g.MLPRatio, 4), dropout: g.Dropout, causal: true, init: g.weights().KernelInit,
		rotary: g.Rotary, rms: g.RMSNorm, gated: g.Gated, recompute: g.Recompute}
}

func (g GPT) weights() layers.Weights {
	return layers.Weights{KernelInit: initializers.RandomNormal{Stddev: 0.02}}
}

func (g GPT) table(c models.Context) *G.Node {
	return layers.EmbeddingTable(c, g.Vocabulary, g.Width, g.weights())
}

// embedded returns the input of the blocks for int32 ids [batch, length].
func (g GPT) embedded(c models.Context, table, ids *G.Node) *G.Node {
	x := layers.Tokens(c, table, ids)
	if g.Rotary == 0 {
		x = layers.LearnedPositions(c, x, g.Context, g.weights())
	}
	return layers.Dropout(c, x, g.Dropout)
}

// NewGPT returns a GPT from the parameters of the network gpt. Context and Vocabulary are 0 if they are not given.
func NewGPT(parameters map[string]any) (GPT, error) {
	p := &Params{params.Read("network gpt", parameters)}
	g := readGPT(p)
	return g, p.r.Done()
}

func readGPT(p *Params) GPT {
	b := newBlocks(p, 4, 128, "learned")
	return GPT{Context: p.Int("context", 0, 0), Layers: b.layers, Heads: b.heads, Width: b.width, Dropout: b.dropout, Recompute: b.recompute,
		MLPRatio: b.mlpRatio, KVHeads: b.kvHeads, Rotary: b.rotary, RMSNorm: b.rms, Gated: b.gated}
}

// gpt predicts the token after a text by GPT.NextLogits; its vocabulary is the number of outputs. Parameters: context (0: the length
// of the feature), layers (4), width (128), positions (learned), and the others of newBlocks.
func gpt(p *Params) Network {
	g := readGPT(p)
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
