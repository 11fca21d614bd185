package layers_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

func TestWrongParametersAreNamed(t *testing.T) {
	heads := func(o layers.Heads) func(b *models.Builder, x *G.Node) {
		return func(b *models.Builder, x *G.Node) { layers.MultiHeadAttention(b, x, x, o) }
	}
	masked := func(shape ...int) func(b *models.Builder, x *G.Node) {
		return func(b *models.Builder, x *G.Node) {
			layers.MultiHeadAttention(b, x, x, layers.Heads{NumHeads: 2, KeyDim: 2, Mask: b.Input("mask", tensor.Bool, shape...)})
		}
	}
	for _, c := range []struct {
		want string
		use  func(b *models.Builder, x *G.Node)
	}{
		{"num_heads is 0", heads(layers.Heads{KeyDim: 2})},
		{"key_dim is 0", heads(layers.Heads{NumHeads: 2})},
		{"value_dim is -1", heads(layers.Heads{NumHeads: 2, KeyDim: 2, ValueDim: -1})},
		{"output_dim is -3", heads(layers.Heads{NumHeads: 2, KeyDim: 2, OutputDim: -3})},
		{"2 heads of keys for 3 of queries", heads(layers.Heads{NumHeads: 3, KeyDim: 2, KVHeads: 2})},
		{"-1 heads of keys for 3 of queries", heads(layers.Heads{NumHeads: 3, KeyDim: 2, KVHeads: -1})},
		{"dropout NaN", heads(layers.Heads{NumHeads: 2, KeyDim: 2, Dropout: math.NaN()})},
		{"rotary base NaN", heads(layers.Heads{NumHeads: 2, KeyDim: 2, Rotary: math.NaN()})},
		{"rotary base -1", heads(layers.Heads{NumHeads: 2, KeyDim: 2, Rotary: -1})},
		{"rotary: depth 3", heads(layers.Heads{NumHeads: 2, KeyDim: 3, Rotary: 1e4})},
		{"a cache with a position: expected keys and values [batch, context, heads, dim], an input of one position, and no mask", func(b *models.Builder, x *G.Node) {
			layers.MultiHeadAttention(b, x, x, layers.Heads{NumHeads: 2, KeyDim: 2, Rotary: 1e4, Cache: &layers.Cache{Position: b.Input("at", tensor.Int32, 4)}})
		}},
		{"a cache with a position: expected keys and values [batch", func(b *models.Builder, x *G.Node) {
			at := b.Input("at", tensor.Int32, 4)
			one := ops.Slice(b, x, []int{0, 0, 0}, []int{-1, 1, -1})
			layers.MultiHeadAttention(b, one, one, layers.Heads{NumHeads: 2, KeyDim: 2, Rotary: 1e4, Cache: &layers.Cache{Keys: at, Values: at, Position: at}})
		}},
		{"rotary: 5 positions of 7", func(b *models.Builder, x *G.Node) {
			layers.RotaryAt(b, ops.ExpandDims(b, x, 2), b.Input("at", tensor.Int32, 4), 7, 1e4)
		}},
		{"mask of shape (4, 6)", masked(4, 6)},
		{"mask of shape (4, 1, 5)", masked(4, 1, 5)},
		{"mask has shape (4, 3, 5, 5)", masked(4, 3, 5, 5)},
		{"multi_head_attention: the input is nil", func(b *models.Builder, x *G.Node) {
			layers.MultiHeadAttention(b, x, nil, layers.Heads{NumHeads: 2, KeyDim: 2})
		}},
		{"sinusoidal_positions: width 6 and base 0", func(b *models.Builder, x *G.Node) { layers.SinusoidalPositions(b, x, 0) }},
		{"position_embedding: 5 positions of a table of 4", func(b *models.Builder, x *G.Node) { layers.LearnedPositions(b, x, 4, layers.Weights{}) }},
		{"group_normalization: 4 groups of 6 channels", func(b *models.Builder, x *G.Node) { layers.GroupNorm(b, x, 4, layers.Norm{}) }},
		{"groups is 0", func(b *models.Builder, x *G.Node) { layers.GroupNorm(b, x, 0, layers.Norm{}) }},
		{"units is 0", func(b *models.Builder, x *G.Node) { layers.Gated(b, x, 0, layers.Weights{}) }},
		{"shared dimension 3", func(b *models.Builder, x *G.Node) { layers.PReLU(b, x, 3) }},
		{"spatial_dropout: rate 1", func(b *models.Builder, x *G.Node) { layers.SpatialDropout(b, x, 1) }},
		{"expected a cell", func(b *models.Builder, x *G.Node) { layers.Bidirectional(b, x, nil, layers.Rnn{}) }},
		{"token_embedding: rows is 0", func(b *models.Builder, _ *G.Node) { layers.EmbeddingTable(b, 0, 2, layers.Weights{}) }},
	} {
		_, err := models.Build(models.Options{Mode: models.Train, Batch: 4}, func(b *models.Builder) error {
			c.use(b, b.Input("x", tensor.Float32, 4, 5, 6))
			return b.Err()
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("expected an error with %q, got %v", c.want, err)
		}
	}
}
