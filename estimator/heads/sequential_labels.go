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
)

// stepLabels says which values the labels of steps may have, and how they are encoded.
type stepLabels struct {
	options
	encoding
	dimension int
	ids       bool
}

// labels returns the label of every step, [batch*T, dimension], 0 for absent steps.
func (s stepsOf) labels(mc *estimator.ModelContext, labels models.Labels, own stepLabels) (models.Labels, error) {
	t, err := only(mc, labels)
	if err != nil {
		return labels, err
	}
	if !t.ragged {
		return labels, mistakef("label %s is %v%v: expected a ragged label, a value for each step", t.name, t.dtype(), t.node.Shape())
	}
	if words := t.dtype() == tensor.String; words != (own.words != nil) {
		return labels, mistakef("label %s is %v: expected words where there is a label_vocabulary, else numbers", t.name, t.dtype())
	}
	if own.ids && own.words == nil && !whole(t.dtype()) {
		return labels, mistakef("labels dtype should be integer. Instead got %v, of label %s", t.dtype(), t.name)
	}
	if !own.ids {
		own.dtype = mc.DType()
	}
	x := mc.Encode(t.node, estimator.Encoder{DType: own.dtype, Shape: []int{s.shape[1], own.dimension}, Encode: own.encode})
	x = s.flat(mc, x, own.dimension)
	x = ops.Where(mc, s.flat(mc, s.mask, 1), x, ops.Scalar(mc, own.dtype, 0))
	return models.NewLabels(mc, models.Feature{Name: t.name, Dense: x}), mc.Err()
}

// encode writes the labels of all steps to dst [batch, T, dimension]. A step without a
// label gets one that makes the loss NaN. If there are more labels than steps, the
// program is built again for longer sequences.
func (own stepLabels) encode(dst *tensor.Tensor, c inputs.NamedTensor) error {
	ids := make(map[string]float64, len(own.words))
	for i, w := range own.words {
		ids[w] = float64(i)
	}
	missing := math.NaN()
	if own.ids {
		missing = -1
	}
	out, each := cellsOf(dst), dst.Shape[1]*dst.Shape[2]
	for row := range dst.Shape[0] {
		from := int(c.Offsets[row])
		n := min(int(c.Offsets[row+1])-from, each)
		for i := range n {
			v, err := value(c.Tensor, from+i, ids)
			if err == nil {
				err = own.check(v)
			}
			if err != nil {
				return badValue(c, row, i, fmt.Errorf("step %d: %w", i/own.dimension, err))
			}
			out.set(row*each+i, v)
		}
		for i := n; i < each; i++ {
			out.set(row*each+i, missing)
		}
	}
	return nil
}

// features returns the weights of the steps, 0 for absent steps, as the head's weight column.
func (s stepsOf) features(mc *estimator.ModelContext, f models.Features, weightColumn string) (models.Features, error) {
	weights := s.there
	if weightColumn != "" {
		at := slices.IndexFunc(f.All(), func(e models.Feature) bool { return e.Name == weightColumn })
		if at < 0 {
			return f, fmt.Errorf("weight_column %q is no feature: the input has %v", weightColumn, f.Names())
		}
		r := f.All()[at].Ragged
		if r == nil {
			return f, fmt.Errorf("weight_column %q is dense: expected a ragged feature, a weight for each step", weightColumn)
		}
		weights = ops.Mul(mc, weights, s.flat(mc, stepWeights(mc, r, s.shape[1]), 1))
	}
	var list []models.Feature
	if weightColumn != "" {
		list = []models.Feature{{Name: weightColumn, Dense: weights}}
	}
	return models.NewFeatures(mc, list...).WithWeights(ops.Reshape(mc, weights, -1)), mc.Err()
}
