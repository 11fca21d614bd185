package layers

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Heads are the options of MultiHeadAttention, named as in Keras' layer.
type Heads struct {
	Name      string  // scope; "" is multi_head_attention, made unique
	NumHeads  int     // of queries
	KeyDim    int     // of each head's queries and keys
	ValueDim  int     // of each head's values; 0: KeyDim
	KVHeads   int     // of keys and values, a divisor of NumHeads; 0: NumHeads; 1 is multi-query attention
	OutputDim int     // of the result; 0: the query's
	Dropout   float64 // fraction of the attention weights dropped in training
	NoBias    bool    // the opposite of Keras' use_bias
	Rotary    float64 // base of rotary positions of queries and keys, such as 10000; 0: none

	// Mask says which keys are visible: bool [batch, keys] (padding), [batch, queries,
	// keys], or of rank 4, broadcasting to [batch, heads, queries, keys]. nil: all.
	Mask       *G.Node
	Causal     bool               // a query sees no later keys: Keras' use_causal_mask
	KernelInit models.Initializer // nil: Glorot uniform
	// Cache holds keys and values, to continue texts; nil: none. With a Position it determines which keys are
	// visible, so Mask must not be set.
	Cache *Cache
}

// MultiHeadAttention lets each query of x [batch, queries, features] read from memory
// [batch, keys, features], which may be x itself, by several heads (Vaswani et al.
// 2017). The result is [batch, queries, features]. It has the variables of Keras' layer:
// query, key, value [features, heads, dim] and attention_output [heads, dim, features].
// Training needs memory linear in the lengths: see ops.Attention. For a query that sees
// no key the result is the bias of the output; in Keras it is the mean of all values.
func MultiHeadAttention(c models.Context, x, memory *G.Node, o Heads) (y *G.Node) {
	const name = "multi_head_attention"
	if !usable(c, name, x, 3) || !usable(c, name, memory, 3) || !positive(c, name, "num_heads", o.NumHeads) || !positive(c, name, "key_dim", o.KeyDim) {
		return nil
	}
	o = o.filled(x)
	if !positive(c, name, "value_dim", o.ValueDim) || !positive(c, name, "output_dim", o.OutputDim) {
		return nil
	}
	if !(o.Rotary >= 0) {
		c.Core().Failf("%s: rotary base %v: expected >= 0", name, o.Rotary)
		return nil
	}
	if o.KVHeads < 1 || o.NumHeads%o.KVHeads != 0 {
		c.Core().Failf("%s: %d heads of keys for %d of queries: expected a divisor", name, o.KVHeads, o.NumHeads)
		return nil
	}
	if !(o.Dropout >= 0 && o.Dropout < 1) {
		c.Core().Failf("%s: dropout %v: expected 0 <= rate < 1", name, o.Dropout)
		return nil
	}
	if o.Cache.steps() && (o.Mask != nil || !o.Cache.filled() || memory.Shape()[1] != 1) {
		c.Core().Failf("%s: a cache with a position: expected keys and values [batch, context, heads, dim], an input of one position, and no mask", name)
		return nil
	}
	a := ops.Attending{Causal: o.Causal}
	if c.Core().Training() {
		a.Dropout = o.Dropout
	}
	scope(c, o.Name, name, func() {
		q := o.project(c, "query", x, o.NumHeads, o.KeyDim)
		k := o.project(c, "key", memory, o.KVHeads, o.KeyDim)
		v := o.project(c, "value", memory, o.KVHeads, o.ValueDim)
		if o.Rotary > 0 {
			q, k = o.rotated(c, q), o.rotated(c, k)
		}
		switch a.Mask = o.mask(c, q, k); {
		case o.Cache.steps():
			a.Causal, a.Mask = false, o.Cache.step(c, k, v)
			k, v = o.Cache.Keys, o.Cache.Values
		case o.Cache != nil:
			o.Cache.Keys, o.Cache.Values = k, v
		}
		y = o.output(c, ops.Attention(c, q, k, v, a))
	})
	return y
}

func (o Heads) filled(x *G.Node) Heads {
	if o.ValueDim == 0 {
		o.ValueDim = o.KeyDim
	}
	if o.KVHeads == 0 {
		o.KVHeads = o.NumHeads
	}
	if o.OutputDim == 0 {
		o.OutputDim = x.Shape()[2]
	}
	return o
}

// rotated rotates queries or keys by their positions.
func (o Heads) rotated(c models.Context, x *G.Node) *G.Node {
	if o.Cache.steps() {
		return RotaryAt(c, x, o.Cache.Position, o.Cache.Keys.Shape()[1], o.Rotary)
	}
	return Rotary(c, x, o.Rotary)
}

// project projects each position of x to heads: [batch, length, heads, dim].
func (o Heads) project(c models.Context, name string, x *G.Node, heads, dim int) (y *G.Node) {
	c.Core().Scope(name, func() {
		features, length := x.Shape()[2], x.Shape()[1]
		w := Weights{KernelInit: o.KernelInit}
		kernel := ops.Reshape(c, w.kernel(c, "kernel", features, heads, dim), features, heads*dim)
		flat := ops.MatMul(c, ops.Reshape(c, x, -1, features), kernel)
		if !o.NoBias {
			flat = ops.BiasAdd(c, flat, ops.Reshape(c, c.Core().Variable("bias", []int{heads, dim}, models.WithInit(initializers.Zeros())), -1))
		}
		y = ops.Reshape(c, flat, -1, length, heads, dim)
	})
	return y
}

// output joins the heads of x [batch, length, heads, dim].
func (o Heads) output(c models.Context, x *G.Node) (y *G.Node) {
	if c.Core().Failed() {
		return nil
	}
	c.Core().Scope("attention_output", func() {
		length, width := x.Shape()[1], o.NumHeads*o.ValueDim
		w := Weights{KernelInit: o.KernelInit, NoBias: o.NoBias}
		kernel := ops.Reshape(c, w.kernel(c, "kernel", o.NumHeads, o.ValueDim, o.OutputDim), width, o.OutputDim)
		flat := w.finish(c, ops.MatMul(c, ops.Reshape(c, x, -1, width), kernel), o.OutputDim)
		y = ops.Reshape(c, flat, -1, length, o.OutputDim)
	})
	return y
}

// mask returns the mask with rank 4.
func (o Heads) mask(c models.Context, q, k *G.Node) *G.Node {
	if o.Mask == nil || c.Core().Failed() {
		return nil
	}
	switch s, keys := o.Mask.Shape(), k.Shape()[1]; {
	case len(s) == 2 && s[1] == keys:
		return ops.ExpandDims(c, ops.ExpandDims(c, o.Mask, 1), 1)
	case len(s) == 3 && s[1] == q.Shape()[1] && s[2] == keys:
		return ops.ExpandDims(c, o.Mask, 1)
	case len(s) == 4:
		return o.Mask
	default:
		c.Core().Fail(fmt.Errorf("multi_head_attention: mask of shape %v for %d queries and %d keys: expected [batch, keys], [batch, queries, keys] or rank 4", s, q.Shape()[1], keys))
		return nil
	}
}

// defaultEpsilon is Keras' for RMSNorm and group normalization.
const defaultEpsilon = 1e-3

// inverse is 1/√(x+epsilon).
func inverse(c models.Context, x *G.Node, epsilon float64) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	return ops.Rsqrt(c, ops.Add(c, x, ops.Scalar(c, models.GraphType(x.Dtype()), orDefault(epsilon, defaultEpsilon))))
}

// angle returns the angle by which position p rotates pair i of a width.
func angle(p, i, width int, base float64) float64 {
	return float64(p) * math.Pow(base, -2*float64(i)/float64(width))
}
