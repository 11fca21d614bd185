package main

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// network is the network of a case, for the case's inputs.
type network func(c *models.Builder, k *benchCase, in inputs) *G.Node // logits

// inputs is a batch.
type inputs struct{ x, ids, labels *G.Node }

var networks = map[string]network{"mlp": mlp, "cnn": cnn, "resnet20": resnet20, "resnet50": resnet50, "wide_deep": wideDeep}

func relu(units int, c *models.Builder, x *G.Node) *G.Node {
	return layers.Dense(c, x, units, layers.Weights{Activation: ops.Relu})
}

// mlp is the mlp of models/networks: 512 and 256 units.
func mlp(c *models.Builder, k *benchCase, in inputs) *G.Node {
	x := ops.Flatten(c, in.x)
	for _, n := range []int{512, 256} {
		x = relu(n/k.narrow(), c, x)
	}
	return layers.Dense(c, x, k.Classes, layers.Weights{})
}

// cnn is two convolutions with pools, and 128 units.
func cnn(c *models.Builder, k *benchCase, in inputs) *G.Node {
	x := in.x
	for _, n := range []int{32, 64} {
		x = layers.Conv2D(c, x, n/k.narrow(), layers.SquareWindow(3, 1, ops.Same), layers.Weights{Activation: ops.Relu})
		x = layers.MaxPool2D(c, x, layers.SquareWindow(2, 2, ops.Valid))
	}
	return layers.Dense(c, relu(128/k.narrow(), c, ops.Flatten(c, x)), k.Classes, layers.Weights{})
}

// normed is a convolution without bias and its batch normalization. The padding is symmetric, as in PyTorch.
func normed(c *models.Builder, x *G.Node, filters, size, stride int) *G.Node {
	p := size / 2
	x = layers.Conv2D(c, x, filters, layers.SquareWindow(size, stride, ops.Explicit(p, p, p, p)), layers.Weights{NoBias: true})
	return layers.BatchNorm(c, x, layers.Norm{Momentum: 0.9, Epsilon: 1e-5})
}

// resnet20 is the network for small images of He et al. 2015, section 4.2, with 1x1 convolutions in shortcuts that
// change the shape.
func resnet20(c *models.Builder, k *benchCase, in inputs) *G.Node {
	x := ops.Relu(c, normed(c, in.x, 16/k.narrow(), 3, 1))
	for stage := range 3 {
		for block := range k.depth(3) {
			filters, stride := 16/k.narrow()<<stage, 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			y := ops.Relu(c, normed(c, x, filters, 3, stride))
			y = normed(c, y, filters, 3, 1)
			if stride > 1 {
				x = normed(c, x, filters, 1, stride)
			}
			x = ops.Relu(c, ops.Add(c, y, x))
		}
	}
	return layers.Dense(c, layers.GlobalAvgPool2D(c, x), k.Classes, layers.Weights{})
}

// resnet50 is the network for ImageNet of He et al. 2015, with the stride in the 3x3 convolutions as in torchvision.
func resnet50(c *models.Builder, k *benchCase, in inputs) *G.Node {
	x := ops.Relu(c, normed(c, in.x, 64/k.narrow(), 7, 2))
	x = layers.MaxPool2D(c, x, layers.SquareWindow(3, 2, ops.Same))
	stages := []int{3, 4, 6, 3}
	if k.Tiny { // more would leave images of one pixel, whose statistics amplify rounding
		stages = stages[:2]
	}
	for stage, blocks := range stages {
		for block := range k.depth(blocks) {
			filters, stride := 64/k.narrow()<<stage, 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			y := ops.Relu(c, normed(c, x, filters, 1, 1))
			y = ops.Relu(c, normed(c, y, filters, 3, stride))
			y = normed(c, y, 4*filters, 1, 1)
			if block == 0 {
				x = normed(c, x, 4*filters, 1, stride)
			}
			x = ops.Relu(c, ops.Add(c, y, x))
		}
	}
	return layers.Dense(c, layers.GlobalAvgPool2D(c, x), k.Classes, layers.Weights{})
}

// wideDeep is a linear model on ids, plus dense layers on embeddings of ids and on numbers.
func wideDeep(c *models.Builder, k *benchCase, in inputs) *G.Node {
	slots := k.IDs
	wide := ops.Sum(c, layers.Embedding(c, in.ids, k.Rows, 1, layers.Weights{}), ops.Axes(1))
	deep := layers.Embedding(c, in.ids, k.Rows, k.Width, layers.Weights{})
	x := ops.Concat(c, 1, ops.Reshape(c, deep, k.Batch, slots*k.Width), in.x)
	for _, n := range []int{1024, 512, 256} {
		x = relu(n/k.narrow(), c, x)
	}
	return ops.Add(c, layers.Dense(c, x, 1, layers.Weights{}), wide)
}

// loss is the mean cross-entropy of the logits.
func loss(c *models.Builder, k *benchCase, in inputs, logits *G.Node) *G.Node {
	if k.Classes > 1 {
		return losses.SparseSoftmaxCrossEntropy(c, in.labels, logits, losses.Options{})
	}
	labels := ops.ExpandDims(c, ops.Cast(c, in.labels, tensor.Float32), -1)
	return losses.SigmoidCrossEntropy(c, labels, logits, losses.Options{})
}
