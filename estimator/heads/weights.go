package heads

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// weights returns the weights of the examples as floats [batch, 1], or, where
// allowed, [batch, width]; nil where there are none.
func (b base) weights(mc *estimator.ModelContext, f models.Features, perLogit bool) (*G.Node, error) {
	w := f.Weights()
	if b.weightColumn != "" {
		if !slices.Contains(f.Names(), b.weightColumn) {
			return nil, fmt.Errorf("weight_column %q is no feature: the input has %v; a column with the role weight needs no weight_column", b.weightColumn, f.Names())
		}
		w = f.Dense(b.weightColumn)
	}
	if w == nil {
		return nil, mc.Err()
	}
	if d := models.GraphType(w.Dtype()); d == models.String || d == models.Bool {
		return nil, fmt.Errorf("weight column should be castable to float. Given dtype: %v", d)
	}
	s := w.Shape()
	fits := len(s) == 1 || len(s) == 2 && (s[1] == 1 || perLogit && s[1] == b.dimension)
	if !fits {
		what := "[D0, D1, ... DN] or [D0, D1, ... DN, 1]"
		if perLogit {
			what = "[D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]"
		}
		return nil, fmt.Errorf("weights shape must be %s, logits_shape: [%d %d]. weights_shape: %v", what, s[0], b.dimension, s)
	}
	if w = ops.Cast(mc, w, mc.DType()); len(s) == 1 {
		w = ops.ExpandDims(mc, w, -1)
	}
	return w, mc.Err()
}
