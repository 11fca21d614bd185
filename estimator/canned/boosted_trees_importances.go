package canned

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/trees"
	"github.com/goestimator/goestimator/tensor"
)

// Importance is the gain of the splits by one column.
type Importance struct {
	Column string // "name[i]" for a column of several numbers
	Gain   float64
}

// Importances returns the gain of each feature column over all trees, the largest
// first. Normalized, the gains sum to 1, like tf.estimator's
// experimental_feature_importances. value reads a variable of a trained model, as
// (*estimator.Estimator).VariableValue does.
func (b *BoostedTrees) Importances(value func(name string) (*tensor.Tensor, error), normalize bool) ([]Importance, error) {
	var failed error
	e, _, err := b.config.values(func(name string) *tensor.Tensor {
		t, err := value(name)
		if err != nil {
			failed = cmp.Or(failed, err)
			return &tensor.Tensor{}
		}
		return t
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, fmt.Errorf("feature importances: %w", err)
	}
	space, err := trees.NewSpace(b.config.Features, b.config.Width)
	if err != nil {
		return nil, err
	}
	var out []Importance
	for i, gain := range e.Importances(space, normalize) {
		out = append(out, Importance{b.config.Features[i].Name, gain})
	}
	slices.SortStableFunc(out, func(x, y Importance) int { return cmp.Compare(y.Gain, x.Gain) })
	return out, nil
}
