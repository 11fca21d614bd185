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
	kvHeads              int     // heads of keys and values; 0: heads
	rotary               float64 // base of rotary positions; 0: none
	rms, gated           bool    // RMSNorm in place of LayerNorm; SwiGLU in place of a layer with GELU
	mlpRatio             int     // width of the dense layer in between, in multiples of width
	dropout              float64
	causal               bool
	init                 models.Initializer // of kernels; nil: Glorot uniform
	caches               []layers.Cache     // one for each block; nil: none
	recompute            bool               // the gradients compute a block again
}

// newBlocks reads layers, heads (4), width, mlp_ratio (4), dropout (0.1), recompute (false), positions (rotary or the default given), kv_heads (0: heads),
// normalization (layer or rms) and gated (false).
func newBlocks(p *Params, layers, width int, positions string) blocks {
	b := blocks{layers: p.Int("layers", layers, 1), heads: p.Int("heads", 4, 1), width: p.Int("width", width, 1), kvHeads: p.Int("kv_heads", 0, 0),
		mlpRatio: p.Int("mlp_ratio", 4, 1), dropout: p.Rate("dropout", 0.1), gated: p.Bool("gated", false),
		recompute: p.Bool("recompute", false)}
	if b.width%b.heads != 0 {
		p.Refuse("width", fmt.Errorf("%d is no multiple of the %d heads", b.width, b.heads))
	} else if b.kvHeads > 0 && b.heads%b.kvHeads != 0 {
		p.Refuse("kv_heads", fmt.Errorf("%d is no divisor of the %d heads", b.kvHeads, b.heads))
	}
	if oneOf(p, "positions", positions, "rotary") {
		b.rotary = rotaryBase
		if b.width/b.heads%2 != 0 {
			p.Refuse("positions", fmt.Errorf("rotary: heads of width %d: expected an even number", b.width/b.heads))
		}
	}
	b.rms = oneOf(p, "normalization", "layer", "rms")
	return b
}

// rotaryBase is the usual base.
const rotaryBase = 1e4

// oneOf reports whether a parameter is other rather than its default def.
func oneOf(p *Params, key, def, other string) bool {
	v := p.String(key, def)
	if v != def && v != other {
		p.Refuse(key, fmt.Errorf("%q: expected %s or %s", v, def, other))
	}
	return v == other
}

// apply runs the blocks on x [batch, length, width]. It normalizes before attention and dense layers, and at the end (Xiong
// et al. 2020). Positions where mask, bool [batch, length], is false are not visible; nil: all are.
func (o blocks) apply(c models.Context, x, mask *G.Node) *G.Node {
	for i := range o.layers {
		if c.Core().Failed() {
			return nil
		}
		c.Core().Scope(fmt.Sprintf("block_%d", i), func() {
			again(c, o.recompute, func() { x = o.block(c, x, mask, o.cache(i)) })
		})
	}
	return o.normalized(c, x, "final_normalization")
}

func (o blocks) normalized(c models.Context, x *G.Node, name string) *G.Node {
	n := layers.Norm{Name: name, Epsilon: 1e-5}
	if o.rms {
		return layers.RMSNorm(c, x, n)
	}
	return layers.LayerNorm(c, x, n)
}

// again runs fn, a block that is recomputed for the gradients if asked.
func again(c models.Context, asked bool, fn func()) {
	if asked {
		c.Core().Recompute(fn)
		return
	}
	fn()
}

// cache returns the cache of a block, nil for none.
func (o blocks) cache(i int) *layers.Cache {
	if o.caches == nil {
		return nil
	}
	return &o.caches[i]
}

func (o blocks) block(c models.Context, x, mask *G.Node, cache *layers.Cache) *G.Node {
	h := o.normalized(c, x, "")
	h = layers.MultiHeadAttention(c, h, h, layers.Heads{NumHeads: o.heads, KVHeads: o.kvHeads, KeyDim: o.width / o.heads, Dropout: o.dropout,
		Rotary: o.rotary, Mask: mask, Causal: o.causal, KernelInit: o.init, Cache: cache})
	x = ops.Add(c, x, layers.Dropout(c, h, o.dropout))
	h = o.normalized(c, x, "")
	if o.gated {
		h = layers.Gated(c, h, o.mlpRatio*o.width, layers.Weights{Activation: ops.Swish, KernelInit: o.init})
	} else {
		h = layers.Dense(c, h, o.mlpRatio*o.width, layers.Weights{Activation: ops.GeluTanh, KernelInit: o.init})
	}
	h = layers.Dense(c, h, o.width, layers.Weights{KernelInit: o.init})
	return ops.Add(c, x, layers.Dropout(c, h, o.dropout))
}

// transformerClassifier is transformer blocks and the mean over positions. Its feature is integer ids [batch, length] below
// vocabulary, or numbers [batch, length, n]. Parameters: vocabulary (256), padding (-1: the id of absent positions), positions
// (sinusoidal) and the others of newBlocks.
func transformerClassifier(p *Params) Network {
	in, o := newSequence(p), newBlocks(p, 2, 64, "sinusoidal")
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x, mask := in.of(c, f)
		if o.rotary == 0 {
			x = layers.SinusoidalPositions(c, x, 1e4)
		}
		x = o.apply(c, x, mask)
		return logits(c, pooled(c, x, mask), outputs, layers.Weights{})
	}
}

// pooled returns the mean over the positions in mask.
func pooled(c models.Context, x, mask *G.Node) *G.Node {
	if mask == nil || c.Core().Failed() {
		return ops.Mean(c, x, ops.Axes(1))
	}
	there := ops.ExpandDims(c, ops.Cast(c, mask, models.GraphType(x.Dtype())), -1)
	return ops.DivNoNan(c, ops.Sum(c, ops.Mul(c, x, there), ops.Axes(1)), ops.Sum(c, there, ops.Axes(1)))
}
