package columns

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// LinearModel returns the sum of each column's contribution to units outputs, and a
// bias, as [batch, units]. The variables lie below scope, for example
// feature.LinearScope. All start at zero, except for embedding tables.
func LinearModel(c models.Context, f models.Features, in []feature.Input, units int, scope string) *G.Node {
	var sum *G.Node
	for _, input := range in {
		y := weighted(c, f, input, scope)
		if c.Core().Failed() {
			return nil
		}
		if sum == nil {
			sum = y
		} else {
			sum = ops.Add(c, sum, y)
		}
	}
	if sum == nil {
		c.Core().Failf("linear model: no columns: expected at least one")
		return nil
	}
	bias := feature.Variable{Name: "bias_weights"}
	return ops.BiasAdd(c, sum, c.Core().Variable(bias.In(scope), []int{units}, models.WithInit(initializers.Zeros())))
}

// weighted returns what one column contributes.
func weighted(c models.Context, f models.Features, in feature.Input, scope string) *G.Node {
	if in.Kernel == nil {
		c.Core().Failf("column %s: it has no weights: expected an input of a linear model", in.Column)
		return nil
	}
	if in.Kind == feature.IDs && in.Table == nil {
		return combined(c, f, in, table(c, in.Kernel, scope))
	}
	x := dense(c, f, in, scope)
	if c.Core().Failed() {
		return nil
	}
	return ops.MatMul(c, x, table(c, in.Kernel, scope))
}
