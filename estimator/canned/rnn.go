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

// RNNClassifier is tf.estimator.experimental.RNNClassifier: recurrent layers along
// sequence columns, for two or more classes.
type RNNClassifier struct {
	SequenceColumns []feature.Column // sequence_feature_columns; at least one
	ContextColumns  []feature.Column // context_feature_columns: dense columns, repeated at every step
	Units           []int            // units of each layer; variables are named as for a list in tf.estimator, even a list of one
	CellType        layers.CellType  // "": layers.SimpleRNN
	Cells           []layers.Cell    // rnn_cell_fn: a cell for each layer, in place of Units and CellType
	ReturnSequences bool             // a prediction and a label for each step: labels are a ragged column
	Classes         int              // n_classes; 0: 2
	WeightColumn    string           // the feature that weighs the examples, or the steps; "": none
	LabelVocabulary []string         // labels are words; nil: they are ids
	// Optimizer; nil: Adagrad with learning rate 0.05 and gradient norms clipped to 5.
	Optimizer     *optimizers.Optimizer
	LossReduction losses.Reduction // "": losses.SumOverBatchSize
	// SequenceMask names the prediction that says which steps are present, with
	// ReturnSequences; "": sequence_mask.
	SequenceMask string
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o RNNClassifier) ModelFn() (*Model, error) {
	h, err := classifier(o.Classes, o.WeightColumn, o.LabelVocabulary, o.LossReduction)
	if err != nil {
		return nil, err
	}
	if o.ReturnSequences {
		if h, err = sequential(h, o.SequenceMask); err != nil {
			return nil, err
		}
	}
	return RNNEstimator{Head: h, SequenceColumns: o.SequenceColumns, ContextColumns: o.ContextColumns, WeightColumn: o.WeightColumn,
		Units: o.Units, CellType: o.CellType, Cells: o.Cells, ReturnSequences: o.ReturnSequences, Optimizer: o.Optimizer}.ModelFn()
}

// New returns the Estimator of the model.
func (o RNNClassifier) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// RNNEstimator is tf.estimator.experimental.RNNEstimator: recurrent layers along
// sequence columns under any head.
type RNNEstimator struct {
	Head            heads.Head       // with ReturnSequences a heads.Sequential
	SequenceColumns []feature.Column // sequence_feature_columns; at least one
	ContextColumns  []feature.Column // context_feature_columns: dense columns, repeated at every step
	WeightColumn    string           // the feature that the head's weight column names; "": none
	Units           []int            // units of each layer; variables are named as for a list in tf.estimator, even a list of one
	CellType        layers.CellType  // "": layers.SimpleRNN
	Cells           []layers.Cell    // rnn_cell_fn: a cell for each layer, in place of Units and CellType
	ReturnSequences bool             // a prediction and a label for each step: labels are a ragged column
	// Optimizer; nil: Adagrad with learning rate 0.05 and gradient norms clipped to 5.
	Optimizer *optimizers.Optimizer
}

// tf.estimator's learning rate for an optimizer that is given only by its name.
const (
	rnnRate = 0.05
	rnnClip = 5.0
)

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o RNNEstimator) ModelFn() (*Model, error) {
	if len(o.SequenceColumns) == 0 {
		return nil, fmt.Errorf("sequence_feature_columns: expected at least one column")
	}
	cells, err := o.cells()
	if err != nil {
		return nil, err
	}
	seq, each := o.Head.(heads.SequentialHead)
	if o.Head != nil && each != o.ReturnSequences {
		return nil, fmt.Errorf("return_sequences is %v and the head a %T: expected a heads.Sequential where, and only where, return_sequences is true", o.ReturnSequences, o.Head)
	}
	m, err := newModel(feature.Columns{Sequence: o.SequenceColumns, Dense: o.ContextColumns}, o.Head, o.WeightColumn)
	if err != nil {
		return nil, err
	}
	r := &rnn{cells: cells, optimizer: choice{o.Optimizer, o.Optimizer != nil}, sequences: each, weights: o.WeightColumn}
	m.body = r
	if err := r.complete(m); err != nil {
		return nil, err
	}
	if each {
		r.labels = seq.LabelDimension()
		m.head = maskedHead{seq, r.sequence}
	}
	return m, nil
}

// New returns the Estimator of the model.
func (o RNNEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// cells returns the cells of the layers.
func (o RNNEstimator) cells() ([]layers.Cell, error) {
	if len(o.Cells) > 0 {
		if len(o.Units) > 0 || o.CellType != "" {
			return nil, fmt.Errorf("units and cell_type: expected none beside cells (rnn_cell_fn)")
		}
		for i, c := range o.Cells {
			if c == nil || c.Name() == "" {
				return nil, fmt.Errorf("cells[%d]: expected a cell with a name", i)
			}
			if err := c.Check(); err != nil {
				return nil, fmt.Errorf("cells[%d], %s: %w", i, c.Name(), err)
			}
		}
		return o.Cells, nil
	}
	if len(o.Units) == 0 {
		return nil, fmt.Errorf("units: expected the units of at least one layer")
	}
	kind := o.CellType
	if kind == "" {
		kind = layers.SimpleRNN
	}
	var cells []layers.Cell
	for i, n := range o.Units {
		if n < 1 {
			return nil, fmt.Errorf("units[%d]: expected >= 1, got %d", i, n)
		}
		cells = append(cells, kind.Of(n))
	}
	if err := cells[0].Check(); err != nil {
		return nil, fmt.Errorf("cell_type: %w", err)
	}
	return cells, nil
}

// complete reads the model's plan and sets defaults.
func (r *rnn) complete(m *Model) (err error) {
	if r.sequence, err = startingPoints(m.plan.Sequence()); err != nil {
		return err
	}
	if r.context, err = startingPoints(m.plan.Dense()); err != nil {
		return err
	}
	if !r.optimizer.given {
		if r.optimizer.Optimizer, err = named("Adagrad", rnnRate); err == nil {
			r.optimizer.Optimizer = clipped(r.optimizer.Optimizer)
		}
	}
	return err
}

// clipped returns o with the norm of each gradient clipped.
func clipped(o *optimizers.Optimizer) *optimizers.Optimizer {
	c := *o
	c.Transforms = []optimizers.Transform{{Kind: optimizers.ClipNorm, Limit: rnnClip}}
	return &c
}
