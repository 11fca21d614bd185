package canned

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// DNNLinearCombinedClassifier is tf.estimator.DNNLinearCombinedClassifier, wide
// and deep: the logits of a linear model and of fully connected layers are added,
// and each part has an optimizer of its own.
type DNNLinearCombinedClassifier struct {
	Linear          []feature.Column      // linear_feature_columns
	LinearOptimizer *optimizers.Optimizer // nil: Ftrl with learning rate min(0.005, 1/sqrt(number of linear columns))
	DNN             []feature.Column      // dnn_feature_columns
	DNNOptimizer    *optimizers.Optimizer // nil: Adagrad with learning rate 0.001
	HiddenUnits     []int                 // dnn_hidden_units; needed with DNN columns
	Activation      layers.Activation     // of the hidden layers; nil: relu
	Dropout         float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm       bool                  // normalise after each hidden layer
	SparseCombiner  feature.Combiner      // linear_sparse_combiner; "": feature.Sum
	Classes         int                   // n_classes; 0: 2
	WeightColumn    string                // the feature that weighs the examples; "": none
	LabelVocabulary []string              // labels are words; nil: they are ids
	LossReduction   losses.Reduction      // "": losses.SumOverBatchSize
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DNNLinearCombinedClassifier) ModelFn() (*Model, error) {
	h, err := classifier(o.Classes, o.WeightColumn, o.LabelVocabulary, o.LossReduction)
	if err != nil {
		return nil, err
	}
	return DNNLinearCombinedEstimator{Head: h, Linear: o.Linear, LinearOptimizer: o.LinearOptimizer, DNN: o.DNN, DNNOptimizer: o.DNNOptimizer,
		HiddenUnits: o.HiddenUnits, Activation: o.Activation, Dropout: o.Dropout, BatchNorm: o.BatchNorm,
		SparseCombiner: o.SparseCombiner, WeightColumn: o.WeightColumn}.ModelFn()
}

// New returns the Estimator of the model.
func (o DNNLinearCombinedClassifier) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// DNNLinearCombinedRegressor is tf.estimator.DNNLinearCombinedRegressor: wide
// and deep under squared error.
type DNNLinearCombinedRegressor struct {
	Linear          []feature.Column      // linear_feature_columns
	LinearOptimizer *optimizers.Optimizer // nil: Ftrl with learning rate min(0.005, 1/sqrt(number of linear columns))
	DNN             []feature.Column      // dnn_feature_columns
	DNNOptimizer    *optimizers.Optimizer // nil: Adagrad with learning rate 0.001
	HiddenUnits     []int                 // dnn_hidden_units; needed with DNN columns
	Activation      layers.Activation     // of the hidden layers; nil: relu
	Dropout         float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm       bool                  // normalise after each hidden layer
	SparseCombiner  feature.Combiner      // linear_sparse_combiner; "": feature.Sum
	LabelDimension  int                   // numbers of a label; 0: 1
	WeightColumn    string                // the feature that weighs the examples; "": none
	LossReduction   losses.Reduction      // "": losses.SumOverBatchSize
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DNNLinearCombinedRegressor) ModelFn() (*Model, error) {
	h, err := regressor(o.LabelDimension, o.WeightColumn, o.LossReduction)
	if err != nil {
		return nil, err
	}
	return DNNLinearCombinedEstimator{Head: h, Linear: o.Linear, LinearOptimizer: o.LinearOptimizer, DNN: o.DNN, DNNOptimizer: o.DNNOptimizer,
		HiddenUnits: o.HiddenUnits, Activation: o.Activation, Dropout: o.Dropout, BatchNorm: o.BatchNorm,
		SparseCombiner: o.SparseCombiner, WeightColumn: o.WeightColumn}.ModelFn()
}

// New returns the Estimator of the model.
func (o DNNLinearCombinedRegressor) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// DNNLinearCombinedEstimator is tf.estimator.DNNLinearCombinedEstimator: wide
// and deep under any head.
type DNNLinearCombinedEstimator struct {
	Head            heads.Head
	Linear          []feature.Column      // linear_feature_columns
	LinearOptimizer *optimizers.Optimizer // nil: Ftrl with learning rate min(0.005, 1/sqrt(number of linear columns))
	DNN             []feature.Column      // dnn_feature_columns
	DNNOptimizer    *optimizers.Optimizer // nil: Adagrad with learning rate 0.001
	HiddenUnits     []int                 // dnn_hidden_units; needed with DNN columns
	Activation      layers.Activation     // of the hidden layers; nil: relu
	Dropout         float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm       bool                  // normalise after each hidden layer
	SparseCombiner  feature.Combiner      // linear_sparse_combiner; "": feature.Sum
	WeightColumn    string                // the feature that the head's weight column names; "": none
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DNNLinearCombinedEstimator) ModelFn() (*Model, error) {
	if len(o.Linear)+len(o.DNN) == 0 {
		return nil, fmt.Errorf("either linear_feature_columns or dnn_feature_columns must be defined")
	}
	m, err := newModel(feature.Columns{Linear: o.Linear, LinearCombiner: o.SparseCombiner, Dense: o.DNN}, o.Head, o.WeightColumn)
	if err != nil {
		return nil, err
	}
	c := &combined{}
	m.body = c
	if len(o.DNN) > 0 {
		if len(o.HiddenUnits) == 0 {
			return nil, fmt.Errorf("dnn_hidden_units must be defined when dnn_feature_columns is specified")
		}
		c.deep = &dnn{hidden: o.HiddenUnits, activation: o.Activation, dropout: o.Dropout, batchNorm: o.BatchNorm, optimizer: choice{o.DNNOptimizer, o.DNNOptimizer != nil}}
		if err := c.deep.check(); err != nil {
			return nil, fmt.Errorf("dnn_%w", err)
		}
		if err := c.deep.complete(m, combinedDNNRate); err != nil {
			return nil, err
		}
	}
	if len(o.Linear) > 0 {
		if c.wide, err = newLinear(m, o.LinearOptimizer, rateOfColumns(len(o.Linear))); err != nil {
			return nil, err
		}
	}
	if c.wide != nil && c.deep != nil {
		switch {
		case o.LinearOptimizer == nil && o.DNNOptimizer != nil:
			c.wide.optimizer = beside(c.wide.optimizer, o.DNNOptimizer)
		case o.DNNOptimizer == nil && o.LinearOptimizer != nil:
			c.deep.optimizer = beside(c.deep.optimizer, o.LinearOptimizer)
		}
	}
	return m, c.check()
}

// beside returns a default optimizer that can run in the same step as the given one. Clips
// are not copied: in tf.estimator they apply to one part only.
func beside(def choice, given *optimizers.Optimizer) choice {
	o := *def.Optimizer
	o.SlotNames, o.AccumulateSteps, o.LossScale, o.SkipNonFinite = given.SlotNames, given.AccumulateSteps, given.LossScale, given.SkipNonFinite
	return choice{&o, true}
}

// New returns the Estimator of the model.
func (o DNNLinearCombinedEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// rateOfColumns is the default learning rate of a linear part with n columns.
func rateOfColumns(n int) float64 { return min(combinedLinearRate, 1/math.Sqrt(float64(n))) }

// combined is wide and deep; one of the parts may be nil.
type combined struct {
	wide *linear
	deep *dnn
}

// check reports optimizers that cannot be combined.
func (c *combined) check() error {
	if c.wide == nil || c.deep == nil {
		return nil
	}
	w, d := c.wide.optimizer.Optimizer, c.deep.optimizer.Optimizer
	if err := cmp.Or(w.Err(), d.Err()); err != nil {
		return err
	}
	names := func(o *optimizers.Optimizer) optimizers.SlotNames { return cmp.Or(o.SlotNames, optimizers.V1Names) }
	if names(w) != names(d) || !slices.Equal(w.Transforms, d.Transforms) || max(w.AccumulateSteps, 1) != max(d.AccumulateSteps, 1) || w.LossScale != d.LossScale || w.SkipNonFinite != d.SkipNonFinite {
		return fmt.Errorf("linear_optimizer and dnn_optimizer: expected equal slot_names, clips, skip_nonfinite, accumulate_steps and loss_scale, as a step has one of each")
	}
	return nil
}

func (c *combined) logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node {
	var deep *G.Node
	if c.deep != nil {
		if deep = c.deep.logits(mc, f, units); c.wide == nil {
			return deep
		}
	}
	wide := c.wide.logits(mc, f, units)
	summarizeLayer(mc, "linear", wide)
	if c.deep == nil {
		return wide
	}
	return ops.Add(mc, deep, wide)
}

// minimize trains each part with its own optimizer, or both with the Estimator's. The deep part is first,
// because in tf.estimator it counts the global steps.
func (c *combined) minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp {
	switch {
	case c.wide == nil:
		return c.deep.minimize(mc, loss)
	case c.deep == nil:
		return c.wide.minimize(mc, loss)
	}
	o := c.deep.optimizer.in(mc)
	return c.wide.optimizer.in(mc).MinimizeGroups(mc, loss, []optimizers.GroupSpec{{Variables: c.deepVariables(), Rule: o.Rule, LearningRate: o.LearningRate,
		WeightDecay: o.WeightDecay, NoDecay: o.NoDecay}})
}

// deepVariables matches the names of the deep part's variables. Tables that columns share
// are outside of its scope.
func (c *combined) deepVariables() string {
	names := []string{"dnn/.*"}
	for _, in := range c.deep.inputs {
		if in.Table != nil && in.Table.Global {
			names = append(names, regexp.QuoteMeta(in.Table.Name))
		}
	}
	return "^(?:" + strings.Join(names, "|") + ")$"
}
