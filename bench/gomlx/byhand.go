package main

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

// byHand is an optimizer for the mlp that writes gradients as matrix products.
//
// GoMLX's gradient of a product is a three-dimensional outer product and its
// sum. XLA fuses the two into a product, but the Go backend does not, and they take
// most of a step's time. This shows what the backend can do without them.
type byHand struct {
	optimizer.Interface // applies the gradients
	// of the layers: inputs and weights
	inputs, weights []*Node
	logits          *Node
}

// gradientUpdater is an interface that GoMLX's Adam implements.
type gradientUpdater interface {
	UpdateGraphWithGradients(scope *model.Scope, grads []*Node, lossDType dtypes.DType)
}

// UpdateGraph adds the gradients and their update to the graph.
func (o *byHand) UpdateGraph(scope *model.Scope, _ *Graph, loss *Node) {
	d := Gradient(loss, o.logits)[0]
	grads := make([]*Node, 2*len(o.weights)) // kernels and biases, in the order of the variables in the context
	for i := len(o.weights) - 1; i >= 0; i-- {
		x := o.inputs[i]
		grads[2*i] = DotGeneral(x, []int{0}, nil, d, []int{0}, nil)
		grads[2*i+1] = ReduceSum(d, 0)
		if i > 0 {
			d = DotGeneral(d, []int{1}, nil, o.weights[i], []int{1}, nil)
			d = Where(GreaterThan(x, ScalarZero(x.Graph(), x.DType())), d, ZerosLike(d))
		}
	}
	o.Interface.(gradientUpdater).UpdateGraphWithGradients(scope, grads, loss.DType())
}

// model is the mlp, and records what the gradients need.
func (o *byHand) model(scope *model.Scope, x *Node) *Node {
	o.inputs, o.weights = nil, nil
	for i, units := range []int{512, 256, 10} {
		if i > 0 {
			x = activation.Relu(x)
		}
		layer := scope.At("%s", numbered("dense", i))
		o.inputs = append(o.inputs, x)
		x = layers.DenseWithBias(layer, x, units)
		w := layer.At("dense").GetVariable("weights")
		o.weights = append(o.weights, w.NodeValue(x.Graph()))
	}
	o.logits = x
	return x
}
