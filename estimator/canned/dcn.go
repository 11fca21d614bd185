package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// DCNEstimator is a deep and cross network (Wang et al., "DCN V2", 2021) over dense feature columns, under any head. Cross layers,
// which multiply features with each other, run in parallel with fully connected layers. tf.estimator has no such model.
type DCNEstimator struct {
	Head         heads.Head
	CrossLayers  int   // 0: 3
	HiddenUnits  []int // units of each hidden layer; at least one
	Columns      []feature.Column
	WeightColumn string                // the feature that the head's weight column names; "": none
	Optimizer    *optimizers.Optimizer // nil: Adam with learning rate 0.001
	Activation   layers.Activation     // of the hidden layers; nil: relu
	Dropout      float64               // probability that an output of a hidden layer is dropped in training
	BatchNorm    bool                  // normalise after each hidden layer
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o DCNEstimator) ModelFn() (*Model, error) {
	if o.CrossLayers == 0 {
		o.CrossLayers = 3
	}
	if o.CrossLayers < 0 {
		return nil, fmt.Errorf("cross_layers: expected >= 1, got %d", o.CrossLayers)
	}
	m, err := newModel(feature.Columns{Dense: o.Columns}, o.Head, o.WeightColumn)
	if err != nil {
		return nil, err
	}
	d := &dcn{layers: o.CrossLayers, deep: dnn{hidden: o.HiddenUnits, activation: o.Activation, dropout: o.Dropout, batchNorm: o.BatchNorm, optimizer: choice{o.Optimizer, o.Optimizer != nil}}}
	if err := d.deep.check(); err != nil {
		return nil, err
	}
	if !d.deep.optimizer.given {
		if d.deep.optimizer.Optimizer, err = named("Adam", ownRate); err != nil {
			return nil, err
		}
	}
	m.body = d
	return m, d.deep.complete(m, ownRate)
}

// New returns the Estimator of the model.
func (o DCNEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// dcn is a body of cross layers in parallel with fully connected layers.
type dcn struct {
	layers int
	deep   dnn
}

func (d *dcn) logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node {
	x := columns.InputLayer(mc, f, d.deep.inputs, feature.DenseScope)
	crossed := x
	for i := range d.layers {
		crossed = layers.Cross(mc, x, crossed, layers.Weights{Name: fmt.Sprintf("dcn/cross_%d", i)})
	}
	x = ops.Concat(mc, -1, crossed, d.deep.hiddenLayers(mc, x))
	const name = "dcn/logits"
	x = layers.Dense(mc, x, units, layers.Weights{Name: name})
	summarizeLayer(mc, name, x)
	return x
}

func (d *dcn) minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp {
	return d.deep.minimize(mc, loss)
}
