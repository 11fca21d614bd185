package columns

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// InputLayer returns the dense columns side by side, in the order of in, as
// [batch, feature.Width(in)]. Tables are variables below scope, for example
// feature.DenseScope.
func InputLayer(c models.Context, f models.Features, in []feature.Input, scope string) *G.Node {
	parts := make([]*G.Node, len(in))
	for i, input := range in {
		parts[i] = dense(c, f, input, scope)
	}
	if c.Core().Failed() {
		return nil
	}
	if len(parts) == 0 {
		c.Core().Failf("input layer: no columns: expected at least one")
		return nil
	}
	return ops.Concat(c, 1, parts...)
}

// dense returns one column as [batch, in.Width].
func dense(c models.Context, f models.Features, in feature.Input, scope string) *G.Node {
	switch {
	case c.Core().Failed():
		return nil
	case in.Kind == feature.Numbers:
		return numbers(c, f, in)
	case in.Kind == feature.IDs && in.Table != nil:
		return combined(c, f, in, table(c, in.Table, scope))
	}
	c.Core().Failf("column %s: %s have no dense form: expected numbers, an indicator or an embedding", in.Column, in.Kind)
	return nil
}

// numbers returns a dense feature as [batch, in.Width] of the model's type.
func numbers(c models.Context, f models.Features, in feature.Input) *G.Node {
	x := f.Dense(in.Values)
	if c.Core().Failed() {
		return nil
	}
	if len(x.Shape()) == 1 {
		x = ops.ExpandDims(c, x, -1)
	}
	return ops.Cast(c, x, c.Core().DType())
}
