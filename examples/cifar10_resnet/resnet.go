package main

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// resnet is the network for CIFAR of He et al. 2015 (section 4.2): 6n+2 layers in three stages of n blocks.
type resnet struct {
	models.Context
	blocks int // of each stage
	norm   layers.Norm
}

// checkSize returns an error unless the number of layers is 6n+2.
func checkSize(size int) error {
	if size < 8 || (size-2)%6 != 0 {
		return fmt.Errorf("resnet_size %d: expected 6n+2, such as 8, 20, 32, 44, 56 or 110", size)
	}
	return nil
}

// logits returns the logits of images of shape [batch, 32, 32, 3].
func (r resnet) logits(images *G.Node) *G.Node {
	x := ops.Relu(r, r.conv(images, 16, 1))
	for stage := range 3 {
		for block := range r.blocks {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = r.block(x, 16<<stage, stride)
		}
	}
	return layers.Dense(r, layers.GlobalAvgPool2D(r, x), classes, layers.Weights{})
}

// block is two convolutions, and a shortcut without parameters: every stride-th pixel, padded with zeros for the new channels.
func (r resnet) block(x *G.Node, filters, stride int) *G.Node {
	y := r.conv(ops.Relu(r, r.conv(x, filters, stride)), filters, 1)
	if stride > 1 {
		x = ops.AvgPool(r, x, [2]int{1, 1}, [2]int{stride, stride}, ops.Valid)
		more := filters / 4 // on each side: the input has half as many channels
		x = ops.Pad(r, x, [][2]int{{}, {}, {}, {more, more}})
	}
	return ops.Relu(r, ops.Add(r, y, x))
}

// conv is a 3x3 convolution and its batch normalization.
func (r resnet) conv(x *G.Node, filters, stride int) *G.Node {
	x = layers.Conv2D(r, x, filters, layers.SquareWindow(3, stride, ops.Same), layers.Weights{NoBias: true, KernelInit: initializers.HeNormal()})
	return layers.BatchNorm(r, x, r.norm)
}

// modelFn describes the model for training, evaluation and prediction.
func (f flags) modelFn(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	net := resnet{Context: mc, blocks: (f.resnetSize - 2) / 6, norm: layers.Norm{Momentum: 0.9, Epsilon: 1e-5}}
	logits := net.logits(features.Only())
	spec := &estimator.Spec{Predictions: estimator.Nodes{"class": ops.ArgMax(mc, logits, 1), "probabilities": ops.Softmax(mc, logits)}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = ops.Add(mc, losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{}), f.penalty(mc))
	spec.EvalMetrics = estimator.Metrics{"accuracy": estimator.NewMetric("accuracy", labels.Only(), spec.Predictions["class"])}
	if mc.Mode() == models.Train {
		sgd := optimizers.Momentum(0, optimizers.WithMomentum(f.momentum), optimizers.WithSchedule(f.schedule()))
		spec.TrainOp = sgd.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// penalty is the weight decay: half the sum of the squares of all variables except those of batch normalization.
func (f flags) penalty(mc *estimator.ModelContext) *G.Node {
	sum := ops.Scalar(mc, tensor.Float32, 0)
	for _, v := range mc.Variables() {
		if !strings.Contains(v.Name, "batch_normalization") {
			sum = ops.Add(mc, sum, ops.Sum(mc, ops.Square(mc, v.Node)))
		}
	}
	return ops.Mul(mc, sum, ops.Scalar(mc, tensor.Float32, f.weightDecay/2))
}

// schedule is the rate for a batch of 128, scaled in proportion to the batch size. It drops to a tenth after a half and after three quarters
// of the steps, like epochs 91 and 136 out of 182.
func (f flags) schedule() optimizers.Schedule {
	rate := f.learningRate * float64(f.batchSize) / 128
	return optimizers.PiecewiseConstant{Boundaries: []int64{f.trainSteps / 2, f.trainSteps * 3 / 4}, Values: []float64{rate, rate / 10, rate / 100}}
}
