package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// dcn is a deep and cross network (Wang et al. 2021) on all features: cross layers and dense layers in parallel. Parameters:
// cross_layers (3), hidden_units (128, 64), dropout (0), activation (relu) and l2 (0). For words use the canned
// model dcn_classifier, which takes feature columns.
func dcn(p *Params) Network {
	count, units := p.Int("cross_layers", 3, 1), p.Ints("hidden_units", 1, 128, 64)
	rate, act := p.Rate("dropout", 0), p.Activation("activation", "relu")
	reg := penalty(0, p.FloatIn("l2", 0, 0, 1e6))
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x := Vector(c, f)
		crossed, deep := x, x
		for range count {
			crossed = layers.Cross(c, x, crossed, layers.Weights{KernelRegularizer: reg})
		}
		for _, n := range units {
			deep = layers.Dense(c, deep, n, layers.Weights{Activation: act, KernelRegularizer: reg})
			deep = layers.Dropout(c, deep, rate)
		}
		return logits(c, ops.Concat(c, -1, crossed, deep), outputs, layers.Weights{KernelRegularizer: reg})
	}
}
