package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// LinearClassifier is tf.estimator.LinearClassifier: a linear model of feature
// columns, categorical or dense, for two or more classes.
type LinearClassifier struct {
	Columns         []feature.Column
	Classes         int                   // n_classes; 0: 2
	WeightColumn    string                // the feature that weighs the examples; "": none
	LabelVocabulary []string              // labels are words; nil: they are ids
	Optimizer       *optimizers.Optimizer // nil: Ftrl with learning rate 0.2
	SDCA            *LinearSDCA           // instead of Optimizer; nil: none
	LossReduction   losses.Reduction      // "": losses.SumOverBatchSize
	SparseCombiner  feature.Combiner      // of several ids of a column; "": feature.Sum
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o LinearClassifier) ModelFn() (*Model, error) {
	h, err := classifier(o.Classes, o.WeightColumn, o.LabelVocabulary, o.LossReduction)
	if err != nil {
		return nil, err
	}
	e := LinearEstimator{Head: h, Columns: o.Columns, WeightColumn: o.WeightColumn, Optimizer: o.Optimizer, SparseCombiner: o.SparseCombiner}
	if o.SDCA != nil {
		return sdcaModel(e, sdca{options: *o.SDCA, loss: logisticLoss, words: o.LabelVocabulary})
	}
	return e.ModelFn()
}

// New returns the Estimator of the model.
func (o LinearClassifier) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// LinearRegressor is tf.estimator.LinearRegressor: a linear model of feature
// columns under squared error.
type LinearRegressor struct {
	Columns        []feature.Column
	LabelDimension int                   // numbers of a label; 0: 1
	WeightColumn   string                // the feature that weighs the examples; "": none
	Optimizer      *optimizers.Optimizer // nil: Ftrl with learning rate 0.2
	SDCA           *LinearSDCA           // instead of Optimizer; nil: none
	LossReduction  losses.Reduction      // "": losses.SumOverBatchSize
	SparseCombiner feature.Combiner      // of several ids of a column; "": feature.Sum
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o LinearRegressor) ModelFn() (*Model, error) {
	h, err := regressor(o.LabelDimension, o.WeightColumn, o.LossReduction)
	if err != nil {
		return nil, err
	}
	e := LinearEstimator{Head: h, Columns: o.Columns, WeightColumn: o.WeightColumn, Optimizer: o.Optimizer, SparseCombiner: o.SparseCombiner}
	if o.SDCA != nil {
		return sdcaModel(e, sdca{options: *o.SDCA, loss: squaredLoss})
	}
	return e.ModelFn()
}

// New returns the Estimator of the model.
func (o LinearRegressor) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// LinearEstimator is tf.estimator.LinearEstimator: a linear model under any head.
type LinearEstimator struct {
	Head           heads.Head
	Columns        []feature.Column
	WeightColumn   string                // the feature that the head's weight column names; "": none
	Optimizer      *optimizers.Optimizer // nil: Ftrl with learning rate 0.2
	SparseCombiner feature.Combiner      // of several ids of a column; "": feature.Sum
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o LinearEstimator) ModelFn() (*Model, error) {
	m, err := newModel(feature.Columns{Linear: o.Columns, LinearCombiner: o.SparseCombiner}, o.Head, o.WeightColumn)
	if err != nil {
		return nil, err
	}
	part, err := newLinear(m, o.Optimizer, linearRate)
	m.body = part
	return m, err
}

// New returns the Estimator of the model.
func (o LinearEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// linear is a linear model: a body, or a part of one.
type linear struct {
	inputs    []feature.Input
	optimizer choice
}

// newLinear reads the model's plan; rate is the default optimizer's.
func newLinear(m *Model, o *optimizers.Optimizer, rate float64) (*linear, error) {
	in, err := m.plan.Linear(m.head.LogitsDimension())
	if err == nil {
		in, err = startingPoints(in)
	}
	if err != nil {
		return nil, err
	}
	given := o != nil
	if !given {
		o, err = named("Ftrl", rate)
	}
	return &linear{in, choice{o, given}}, err
}

func (l *linear) logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node {
	before := len(mc.Variables())
	y := columns.LinearModel(mc, f, l.inputs, units, feature.LinearScope)
	if mc.Failed() || !mc.Training() {
		return y
	}
	made := mc.Variables()[before:] // the bias is the last
	bias := made[len(made)-1].Node
	if units > 1 {
		mc.Summarize(models.HistogramSummary, "bias", bias)
	} else {
		mc.Summarize(models.ScalarSummary, "bias", ops.Mean(mc, bias))
	}
	mc.Summarize(models.ScalarSummary, "fraction_of_zero_weights", zerosOf(mc, made[:len(made)-1]))
	return y
}

func (l *linear) minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp {
	return l.optimizer.in(mc).Minimize(mc, loss)
}
