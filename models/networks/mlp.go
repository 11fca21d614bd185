package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	G "gorgonia.org/gorgonia"
)

// linear is one dense layer on all features. Parameters: l1, l2 (penalties of the kernel).
func linear(p *Params) Network {
	w := layers.Weights{KernelRegularizer: penalty(p.FloatIn("l1", 0, 0, 1e6), p.FloatIn("l2", 0, 0, 1e6))}
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		return logits(c, Vector(c, f), outputs, w)
	}
}

// mlp is dense layers on all features. Parameters: hidden_units (512, 256),
// activation (relu), dropout (0), l2 (0).
func mlp(p *Params) Network {
	units := p.Ints("hidden_units", 1, 512, 256)
	w := layers.Weights{Activation: p.Activation("activation", "relu"), KernelRegularizer: penalty(0, p.FloatIn("l2", 0, 0, 1e6))}
	rate := p.Rate("dropout", 0)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x := Vector(c, f)
		for _, n := range units {
			x = layers.Dropout(c, layers.Dense(c, x, n, w), rate)
		}
		return logits(c, x, outputs, layers.Weights{KernelRegularizer: w.KernelRegularizer})
	}
}

// penalty returns the regularizer with those scales, nil if both are 0.
func penalty(l1, l2 float64) models.Regularizer {
	if l1 == 0 && l2 == 0 {
		return nil
	}
	return layers.L1L2(l1, l2)
}
