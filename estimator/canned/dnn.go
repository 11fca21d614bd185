package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
)

// DNNClassifier is tf.estimator.DNNClassifier: fully connected layers over dense
// feature columns, for two or more classes.
type DNNClassifier struct {
	HiddenUnits     []int // units of each hidden layer; at least one
	Columns         []feature.Column
	Classes         int                   // n_classes; 0: 2
	WeightColumn    string                // the feature that weighs the examples; "": none
	LabelVocabulary []string              // labels are words; nil: they are ids
	Optimizer       *optimizers.Optimizer // nil: Adagrad with learning rate 0.001
	Activation      layers.Activation     // of the hidden layers; nil: relu
	Dropout         float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm       bool                  // normalise after each hidden layer
	LossReduction   losses.Reduction      // "": losses.SumOverBatchSize
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DNNClassifier) ModelFn() (*Model, error) {
	h, err := classifier(o.Classes, o.WeightColumn, o.LabelVocabulary, o.LossReduction)
	if err != nil {
		return nil, err
	}
	return DNNEstimator{Head: h, HiddenUnits: o.HiddenUnits, Columns: o.Columns, WeightColumn: o.WeightColumn, Optimizer: o.Optimizer,
		Activation: o.Activation, Dropout: o.Dropout, BatchNorm: o.BatchNorm}.ModelFn()
}

// New returns the Estimator of the model.
func (o DNNClassifier) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// DNNRegressor is tf.estimator.DNNRegressor: fully connected layers over dense
// feature columns, under squared error.
type DNNRegressor struct {
	HiddenUnits    []int // units of each hidden layer; at least one
	Columns        []feature.Column
	LabelDimension int                   // numbers of a label; 0: 1
	WeightColumn   string                // the feature that weighs the examples; "": none
	Optimizer      *optimizers.Optimizer // nil: Adagrad with learning rate 0.001
	Activation     layers.Activation     // of the hidden layers; nil: relu
	Dropout        float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm      bool                  // normalise after each hidden layer
	LossReduction  losses.Reduction      // "": losses.SumOverBatchSize
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DNNRegressor) ModelFn() (*Model, error) {
	h, err := regressor(o.LabelDimension, o.WeightColumn, o.LossReduction)
	if err != nil {
		return nil, err
	}
	return DNNEstimator{Head: h, HiddenUnits: o.HiddenUnits, Columns: o.Columns, WeightColumn: o.WeightColumn, Optimizer: o.Optimizer,
		Activation: o.Activation, Dropout: o.Dropout, BatchNorm: o.BatchNorm}.ModelFn()
}

// New returns the Estimator of the model.
func (o DNNRegressor) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// DNNEstimator is tf.estimator.DNNEstimator: fully connected layers under any head.
type DNNEstimator struct {
	Head         heads.Head
	HiddenUnits  []int // units of each hidden layer; at least one
	Columns      []feature.Column
	WeightColumn string                // the feature that the head's weight column names; "": none
	Optimizer    *optimizers.Optimizer // nil: Adagrad with learning rate 0.001
	Activation   layers.Activation     // of the hidden layers; nil: relu
	Dropout      float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm    bool                  // normalise after each hidden layer
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DNNEstimator) ModelFn() (*Model, error) {
	m, err := newModel(feature.Columns{Dense: o.Columns}, o.Head, o.WeightColumn)
	if err != nil {
		return nil, err
	}
	d := &dnn{hidden: o.HiddenUnits, activation: o.Activation, dropout: o.Dropout, batchNorm: o.BatchNorm, optimizer: choice{o.Optimizer, o.Optimizer != nil}}
	if err := d.check(); err != nil {
		return nil, err
	}
	m.body = d
	return m, d.complete(m, ownRate)
}

// New returns the Estimator of the model.
func (o DNNEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// check reports invalid options.
func (d *dnn) check() error {
	if len(d.hidden) == 0 {
		return fmt.Errorf("hidden_units: expected the units of at least one hidden layer")
	}
	for i, n := range d.hidden {
		if n < 1 {
			return fmt.Errorf("hidden_units[%d]: expected >= 1, got %d", i, n)
		}
	}
	if !(d.dropout >= 0 && d.dropout < 1) {
		return fmt.Errorf("dropout: expected 0 <= dropout < 1, got %v", d.dropout)
	}
	return nil
}

// complete reads the model's plan and sets defaults; rate is the default optimizer's.
func (d *dnn) complete(m *Model, rate float64) (err error) {
	if d.activation == nil {
		if d.activation, err = layers.ActivationByName("relu"); err != nil {
			return err
		}
	}
	if d.inputs, err = startingPoints(m.plan.Dense()); err != nil {
		return err
	}
	if !d.optimizer.given {
		d.optimizer.Optimizer, err = named("Adagrad", rate)
	}
	return err
}
