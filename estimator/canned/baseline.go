package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// BaselineClassifier is tf.estimator.BaselineClassifier: it learns how frequent
// the classes are and ignores the features.
type BaselineClassifier struct {
	Classes         int                   // n_classes; 0: 2
	WeightColumn    string                // the feature that weighs the examples; "": none
	LabelVocabulary []string              // labels are words; nil: they are ids
	Optimizer       *optimizers.Optimizer // nil: Ftrl with learning rate 0.3
	LossReduction   losses.Reduction      // "": losses.SumOverBatchSize
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o BaselineClassifier) ModelFn() (*Baseline, error) {
	h, err := classifier(o.Classes, o.WeightColumn, o.LabelVocabulary, o.LossReduction)
	if err != nil {
		return nil, err
	}
	return BaselineEstimator{Head: h, WeightColumn: o.WeightColumn, Optimizer: o.Optimizer}.ModelFn()
}

// New returns the Estimator of the model.
func (o BaselineClassifier) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// BaselineRegressor is tf.estimator.BaselineRegressor: it learns the mean of the
// labels and ignores the features.
type BaselineRegressor struct {
	LabelDimension int                   // numbers of a label; 0: 1
	WeightColumn   string                // the feature that weighs the examples; "": none
	Optimizer      *optimizers.Optimizer // nil: Ftrl with learning rate 0.3
	LossReduction  losses.Reduction      // "": losses.SumOverBatchSize
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o BaselineRegressor) ModelFn() (*Baseline, error) {
	h, err := regressor(o.LabelDimension, o.WeightColumn, o.LossReduction)
	if err != nil {
		return nil, err
	}
	return BaselineEstimator{Head: h, WeightColumn: o.WeightColumn, Optimizer: o.Optimizer}.ModelFn()
}

// New returns the Estimator of the model.
func (o BaselineRegressor) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// BaselineEstimator is tf.estimator.BaselineEstimator: one bias for each logit
// of any head.
type BaselineEstimator struct {
	Head         heads.Head
	WeightColumn string                // the feature that the head's weight column names; "": none
	Optimizer    *optimizers.Optimizer // nil: Ftrl with learning rate 0.3
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o BaselineEstimator) ModelFn() (*Baseline, error) {
	if err := checkOutputs(o.Head); err != nil {
		return nil, err
	}
	b := &Baseline{head: o.Head, weights: o.WeightColumn, optimizer: choice{o.Optimizer, true}}
	if o.Optimizer != nil {
		return b, nil
	}
	def, err := named("Ftrl", baselineRate)
	b.optimizer = choice{def, false}
	return b, err
}

// New returns the Estimator of the model.
func (o BaselineEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// Baseline is the model_fn of the baselines. It reads one feature, for the number
// of examples, and the weights.
type Baseline struct {
	head      heads.Head
	weights   string
	optimizer choice
}

var _ estimator.Preparer = (*Baseline)(nil)

// Prepare selects labels, weights and one feature of fixed length, numeric if there is one.
func (b *Baseline) Prepare(ds inputs.Dataset) (inputs.Dataset, error) {
	var names []string
	var one *inputs.Column
	for _, c := range ds.Schema().Columns() {
		switch {
		case c.Role != inputs.Feature || c.Name == b.weights:
			names = append(names, c.Name)
		case !c.Ragged && (one == nil || one.DType == tensor.String && c.DType != tensor.String):
			one = &c
		}
	}
	if one == nil {
		return nil, fmt.Errorf("baseline: the data has no feature: expected at least one of fixed length, which says how many examples there are")
	}
	return inputs.Project(append(names, one.Name)...)(ds), nil
}

// Model builds the graph of a mode.
func (b *Baseline) Model(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	units := b.head.LogitsDimension()
	bias := mc.Variable("baseline/bias", []int{units}, models.WithInit(initializers.Zeros()))
	logits := ops.MatMul(mc, b.ones(mc, features), ops.ExpandDims(mc, bias, 0))
	if mc.Failed() {
		return nil, mc.Err()
	}
	return b.head.Spec(mc, heads.Inputs{Features: features, Labels: labels, Logits: logits, Optimizer: b.optimizer.in(mc)})
}

// ones returns a one for each example, [batch, 1]. Text, which programs cannot read, is encoded as
// ones.
func (b *Baseline) ones(mc *estimator.ModelContext, features models.Features) *G.Node {
	for _, f := range features.All() {
		switch {
		case f.Dense == nil || f.Name == b.weights:
		case models.GraphType(f.Dense.Dtype()) == tensor.String:
			return mc.Encode(f.Dense, estimator.Encoder{DType: mc.DType(), Shape: []int{1}, Encode: fillOnes})
		default:
			rows := ops.Reshape(mc, f.Dense, mc.Batch(), f.Dense.Shape().TotalSize()/mc.Batch())
			return ops.OnesLike(mc, ops.Cast(mc, ops.Slice(mc, rows, []int{0, 0}, []int{-1, 1}), mc.DType()))
		}
	}
	mc.Failf("baseline: no feature of fixed length")
	return nil
}

func fillOnes(dst *tensor.Tensor, _ inputs.NamedTensor) error {
	return initializers.Ones().Init(dst, 0)
}
