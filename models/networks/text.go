package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// textCNN is convolutions of several sizes along a text, and the maximum of each filter (Kim 2014). It takes the same feature as
// transformer_classifier. Parameters: vocabulary (256), padding (-1), width of embeddings (64), sizes (3, 4, 5), filters
// of each size (64) and dropout (0.5).
func textCNN(p *Params) Network {
	s := newSequence(p)
	sizes, filters, rate := p.Ints("sizes", 1, 3, 4, 5), p.Int("filters", 64, 1), p.Rate("dropout", 0.5)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x, mask := s.of(c, f)
		if mask != nil && !c.Core().Failed() {
			x = ops.Mul(c, x, ops.ExpandDims(c, ops.Cast(c, mask, models.GraphType(x.Dtype())), -1))
		}
		var parts []*G.Node
		for _, size := range sizes {
			y := layers.Conv1D(c, x, filters, layers.Window1D{Size: size, Padding: ops.Same}, layers.Weights{Activation: ops.Relu})
			parts = append(parts, layers.GlobalMaxPool1D(c, y))
		}
		return logits(c, layers.Dropout(c, ops.Concat(c, -1, parts...), rate), outputs, layers.Weights{})
	}
}

// lstmClassifier is a bidirectional LSTM along a text. The logits are computed from the last output of each direction. It takes the
// same feature as transformer_classifier. Parameters: vocabulary (256), padding (-1), width of embeddings (64), units of each
// direction (64), layers (1) and dropout between layers and before the logits (0).
func lstmClassifier(p *Params) Network {
	s := newSequence(p)
	units, count, rate := p.Int("units", 64, 1), p.Int("layers", 1, 1), p.Rate("dropout", 0)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x, mask := s.of(c, f)
		for range count {
			x = layers.Bidirectional(c, x, mask, layers.Rnn{Cell: layers.LSTM.Of(units)})
			x = layers.Dropout(c, x, rate)
		}
		if c.Core().Failed() {
			return nil
		}
		forward := ops.Slice(c, x, []int{0, x.Shape()[1] - 1, 0}, []int{-1, 1, units})
		backward := ops.Slice(c, x, []int{0, 0, units}, []int{-1, 1, units})
		return logits(c, ops.Squeeze(c, ops.Concat(c, 2, forward, backward), 1), outputs, layers.Weights{})
	}
}
