package networks

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// blocks are the transformer blocks of a network.
type blocks struct {
	layers, heads, width int
	mlpRatio             int // width of the dense layer in between, in widths
	dropout              float64
	causal               bool
	init                 models.Initializer // of kernels; nil: Glorot uniform
	caches               []layers.Cache     // one a block; nil: none
	recompute            bool               // the gradients compute a block again
}

// newBlocks reads layers (2), heads (4), width (64), mlp_ratio (4), dropout (0.1) and recompute (false).
func newBlocks(p *Params) blocks {
	b := blocks{layers: p.Int("layers", 2, 1), heads: p.Int("heads", 4, 1), width: p.Int("width", 64, 1),
		mlpRatio: p.Int("mlp_ratio", 4, 1), dropout: p.Rate("dropout", 0.1),
		recompute: p.Bool("recompute", false)}
	if b.width%b.heads != 0 {
		p.Refuse("width", fmt.Errorf("%d is no multiple of the %d heads", b.width, b.heads))
	}
	return b
}

// apply runs the blocks on x [batch, length, width] and normalizes: before attention and dense layers, and at the end (Xiong
// et al. 2020). Where mask, bool [batch, length], is false, there is nothing to be seen; nil: everywhere.
func (o blocks) apply(c models.Context, x, mask *G.Node) *G.Node {
	for i := range o.layers {
		if c.Core().Failed() {
			return nil
		}
		c.Core().Scope(fmt.Sprintf("block_%d", i), func() {
			again(c, o.recompute, func() { x = o.block(c, x, mask, o.cache(i)) })
		})
	}
	return layers.LayerNorm(c, x, layers.Norm{Name: "final_normalization", Epsilon: 1e-5})
}

// again runs fn, a block that the gradients compute again where asked.
func again(c models.Context, asked bool, fn func()) {
	if asked {
		c.Core().Recompute(fn)
		return
	}
	fn()
}

// cache is that of a block, nil where there is none.
func (o blocks) cache(i int) *layers.Cache {
	if o.caches == nil {
		return nil
	}
	return &o.caches[i]
}

func (o blocks) block(c models.Context, x, mask *G.Node, cache *layers.Cache) *G.Node {
	norm := layers.Norm{Epsilon: 1e-5}
	h := layers.LayerNorm(c, x, norm)
	h = layers.MultiHeadAttention(c, h, h, layers.Heads{NumHeads: o.heads, KeyDim: o.width / o.heads, Dropout: o.dropout,
		Mask: mask, Causal: o.causal, KernelInit: o.init, Cache: cache})
	x = ops.Add(c, x, layers.Dropout(c, h, o.dropout))
	h = layers.LayerNorm(c, x, norm)
	h = layers.Dense(c, h, o.mlpRatio*o.width, layers.Weights{Activation: ops.GeluTanh, KernelInit: o.init})
	h = layers.Dense(c, h, o.width, layers.Weights{KernelInit: o.init})
	return ops.Add(c, x, layers.Dropout(c, h, o.dropout))
}

// transformerClassifier is transformer blocks and the mean over positions. Its feature is integer ids [batch, length] below
// vocabulary, or numbers [batch, length, n]. Parameters: vocabulary (256), padding (-1: the id of positions that are not there)
// and the parameters of newBlocks.
func transformerClassifier(p *Params) Network {
	in, o := newSequence(p), newBlocks(p)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x, mask := in.of(c, f)
		x = o.apply(c, layers.SinusoidalPositions(c, x, 1e4), mask)
		return logits(c, pooled(c, x, mask), outputs, layers.Weights{})
	}
}

// pooled is the mean over the positions that are there.
func pooled(c models.Context, x, mask *G.Node) *G.Node {
	if mask == nil || c.Core().Failed() {
		return ops.Mean(c, x, ops.Axes(1))
	}
	there := ops.ExpandDims(c, ops.Cast(c, mask, models.GraphType(x.Dtype())), -1)
	return ops.DivNoNan(c, ops.Sum(c, ops.Mul(c, x, there), ops.Axes(1)), ops.Sum(c, there, ops.Axes(1)))
}
