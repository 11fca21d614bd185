package heads

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// weights returns the weights of the examples as floats [batch, 1] or, if perLogit,
// [batch, width]; nil for none.
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
	if d := models.GraphType(w.Dtype()); d == tensor.String || d == tensor.Bool {
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
	if w = CheckedWeights(mc, w, mc.DType()); len(s) == 1 {
		w = ops.ExpandDims(mc, w, -1)
	}
	return w, mc.Err()
}

// CheckedWeights returns the weights of examples, numbers of any type and shape, as
// type d. If one is negative or not finite, the batch is an error that names column, row
// and weight. Weights that the model computed, rather than took from the input, are only
// cast.
func CheckedWeights(mc *estimator.ModelContext, w *G.Node, d tensor.DType) *G.Node {
	if !mc.IsColumn(w) {
		return ops.Cast(mc, w, d)
	}
	return mc.Encode(w, estimator.Encoder{DType: d, Shape: w.Shape()[1:], Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out := cellsOf(dst)
		each := max(1, dst.Len()/max(1, dst.Shape[0]))
		for i := range c.Tensor.Len() {
			v := c.Tensor.Float(i)
			if err := checkWeight(v); err != nil {
				return badValue(c, i/each, i%each, err)
			}
			out.set(i, v)
		}
		return nil
	}})
}

func checkWeight(v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("weight %v: weights of examples must be finite and not negative: correct it or filter such rows", v)
	}
	return nil
}

// stepWeights returns a ragged column of weights as [batch, steps] of mc's type, checked
// as by CheckedWeights; 0 for absent steps.
func stepWeights(mc *estimator.ModelContext, r *models.Ragged, steps int) *G.Node {
	return mc.Encode(r.Values, estimator.Encoder{DType: mc.DType(), Shape: []int{steps}, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out := cellsOf(dst)
		for row := range dst.Shape[0] {
			from := int(c.Offsets[row])
			for i := range min(int(c.Offsets[row+1])-from, steps) {
				v := c.Tensor.Float(from + i)
				if err := checkWeight(v); err != nil {
					return badValue(c, row, i, fmt.Errorf("step %d: %w", i, err))
				}
				out.set(row*steps+i, v)
			}
		}
		return nil
	}})
}
