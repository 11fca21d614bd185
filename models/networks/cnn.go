package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// cnn is, for each entry of filters, a 3x3 convolution and a 2x2 max pool, then
// dense layers. Parameters: filters (32, 64), dense_units (128), dropout before the
// logits (0), activation (relu), batch_norm (false), l2 (0), and the parameters of
// newImages.
func cnn(p *Params) Network {
	filters, units := p.Ints("filters", 1, 32, 64), p.Ints("dense_units", 1, 128)
	rate, norm := p.Rate("dropout", 0), p.Bool("batch_norm", false)
	act, reg := p.Activation("activation", "relu"), penalty(0, p.FloatIn("l2", 0, 0, 1e6))
	pixels := newImages(p)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x := pixels.of(c, f)
		for _, n := range filters {
			x = convBlock(c, x, n, layers.Weights{Activation: act, KernelRegularizer: reg, NoBias: norm})
			x = layers.MaxPool2D(c, x, layers.SquareWindow(2, 2, ops.Same))
		}
		x = layers.Flatten(c, x)
		for _, n := range units {
			x = layers.Dense(c, x, n, layers.Weights{Activation: act, KernelRegularizer: reg})
		}
		return logits(c, layers.Dropout(c, x, rate), outputs, layers.Weights{KernelRegularizer: reg})
	}
}

// convBlock is a 3x3 convolution, batch-normalised if it has no bias.
func convBlock(c models.Context, x *G.Node, filters int, w layers.Weights) *G.Node {
	act := w.Activation
	if w.NoBias {
		w.Activation = nil
	}
	x = layers.Conv2D(c, x, filters, layers.SquareWindow(3, 1, ops.Same), w)
	if !w.NoBias {
		return x
	}
	x = layers.BatchNorm(c, x, layers.Norm{})
	if c.Core().Failed() {
		return nil
	}
	return act(c, x)
}
