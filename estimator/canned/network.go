package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// batchNormMomentum is tf.estimator's, which differs from the layer's default.
const batchNormMomentum = 0.999

// dnn is fully connected layers: a body, or a part of one.
type dnn struct {
	inputs     []feature.Input
	hidden     []int
	activation layers.Activation
	dropout    float64
	batchNorm  bool
	optimizer  choice
}

// logits builds, for each hidden layer, kernel, bias and activation, then
// dropout, then batch normalisation, in tf.estimator's order.
func (d *dnn) logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node {
	x := d.hiddenLayers(mc, columns.InputLayer(mc, f, d.inputs, feature.DenseScope))
	const name = "dnn/logits"
	x = layers.Dense(mc, x, units, layers.Weights{Name: name})
	summarizeLayer(mc, name, x)
	return x
}

// hiddenLayers returns the output of the layers before the logits.
func (d *dnn) hiddenLayers(mc *estimator.ModelContext, x *G.Node) *G.Node {
	for i, n := range d.hidden {
		name := fmt.Sprintf("dnn/hiddenlayer_%d", i)
		x = layers.Dense(mc, x, n, layers.Weights{Name: name, Activation: d.activation})
		x = layers.Dropout(mc, x, d.dropout)
		if d.batchNorm {
			x = layers.BatchNorm(mc, x, layers.Norm{Name: fmt.Sprintf("%s/batchnorm_%d", name, i), Momentum: batchNormMomentum})
		}
		summarizeLayer(mc, name, x)
	}
	return x
}

func (d *dnn) minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp {
	return d.optimizer.in(mc).Minimize(mc, loss)
}
