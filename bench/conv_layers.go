package main

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// The workloads conv1d, grouped and depthwise have two layers of a kind, as in networks for text and sound, in ResNeXt and in
// MobileNet. The gradient of the first layer's kernel goes through the second layer.
var (
	conv1D = workload{layered(twoConv1D), []int{256, 64}, 0, 10, 32, 4, "logits"}
	// grouped has 32 groups of 4 channels.
	grouped   = workload{layered(twoGrouped), []int{28, 28, 128}, 0, 10, 32, 4, "logits"}
	depthwise = workload{layered(twoDepthwise), []int{56, 56, 64}, 0, 10, 16, 4, "logits"}
)

// attention is self-attention over all positions, without projections; its results are averaged.
var attention = workload{layered(attended), []int{512, 512}, 0, 10, 8, 4, "probabilities"}

func attended(c models.Context, x *G.Node) *G.Node {
	heads := ops.Reshape(c, x, -1, 512, 8, 64)
	return layers.GlobalAvgPool1D(c, ops.Reshape(c, ops.Attention(c, heads, heads, heads, ops.Attending{}), -1, 512, 512))
}

func twoConv1D(c models.Context, x *G.Node) *G.Node {
	for range 2 {
		x = layers.Conv1D(c, x, 128, layers.Window1D{Size: 5, Padding: ops.Same}, layers.Weights{Activation: ops.Relu})
	}
	return layers.GlobalAvgPool1D(c, x)
}

func twoGrouped(c models.Context, x *G.Node) *G.Node {
	w := layers.SquareWindow(3, 1, ops.Same)
	w.Groups = 32
	for range 2 {
		x = layers.Conv2D(c, x, 128, w, layers.Weights{Activation: ops.Relu})
	}
	return layers.GlobalAvgPool2D(c, x)
}

func twoDepthwise(c models.Context, x *G.Node) *G.Node {
	for range 2 {
		x = layers.DepthwiseConv2D(c, x, 1, layers.SquareWindow(3, 1, ops.Same), layers.Weights{Activation: ops.Relu})
		x = layers.Conv2D(c, x, 64, layers.SquareWindow(1, 1, ops.Same), layers.Weights{Activation: ops.Relu})
	}
	return layers.GlobalAvgPool2D(c, x)
}

// layered is a classifier with ten classes on the features from body, trained with Adam.
func layered(body func(models.Context, *G.Node) *G.Node) func() (estimator.ModelFn, error) {
	return func() (estimator.ModelFn, error) {
		o, err := optimizers.New("adam", nil)
		if err != nil {
			return nil, err
		}
		return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
			logits := layers.Dense(mc, body(mc, f.Dense("x")), 10, layers.Weights{})
			spec := &estimator.Spec{Predictions: estimator.Nodes{"logits": logits, "probabilities": ops.Softmax(mc, logits)}}
			if mc.Mode() == models.Predict {
				return spec, nil
			}
			spec.Loss = losses.SparseSoftmaxCrossEntropy(mc, l.Only(), logits, losses.Options{})
			spec.TrainOp = o.Minimize(mc, spec.Loss)
			return spec, nil
		}), nil
	}
}
