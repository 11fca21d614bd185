package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// Vector concatenates all features, in the order of the set, to [batch, n]: as numbers, flattened, with
// bytes scaled to 0..1.
func Vector(c models.Context, f models.Features) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	if f.Len() == 0 {
		c.Core().Failf("the network has no features: expected at least one")
		return nil
	}
	var parts []*G.Node
	for _, e := range f.All() {
		x := numeric(c, e)
		if x == nil {
			return nil
		}
		if len(x.Shape()) == 1 {
			x = ops.ExpandDims(c, x, -1)
		}
		parts = append(parts, ops.Flatten(c, x))
	}
	return ops.Concat(c, -1, parts...)
}

// numeric casts a dense feature to the model's float type; bytes are scaled to 0..1.
func numeric(c models.Context, f models.Feature) *G.Node {
	x := f.Dense
	if x == nil {
		c.Core().Failf("feature %s is ragged: this network takes dense features", f.Name)
		return nil
	}
	switch d := models.GraphType(x.Dtype()); {
	case d == tensor.String:
		c.Core().Failf("feature %s is text: this network takes numbers: use a canned model with feature_columns, or leave it out by role: ignore", f.Name)
		return nil
	case d == tensor.Invalid || len(x.Shape()) == 0:
		c.Core().Failf("feature %s is one %v: expected numbers, one or more for each example", f.Name, x.Dtype())
		return nil
	}
	to := c.Core().DType()
	y := ops.Cast(c, x, to)
	if x.Dtype() == gtensor.Uint8 {
		y = ops.Mul(c, y, ops.Scalar(c, to, 1.0/255))
	}
	return y
}

// logits is the last layer.
func logits(c models.Context, x *G.Node, outputs int, w layers.Weights) *G.Node {
	if outputs == 0 {
		c.Core().Failf("this network does not find out how many outputs there are: set label_dimension, the number of outputs")
		return nil
	}
	return layers.Dense(c, x, outputs, w)
}
