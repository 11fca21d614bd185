package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Activation is an elementwise function of a layer's output.
type Activation func(c models.Context, x *G.Node) *G.Node

var activations = map[string]Activation{
	"linear": func(_ models.Context, x *G.Node) *G.Node { return x },
	"relu":   ops.Relu, "relu6": ops.Relu6, "elu": ops.Elu, "selu": ops.Selu, "gelu": ops.Gelu, "gelu_tanh": ops.GeluTanh,
	"tanh": ops.Tanh, "sigmoid": ops.Sigmoid, "softplus": ops.Softplus, "softsign": ops.Softsign,
	"swish": ops.Swish, "silu": ops.Swish, "softmax": ops.Softmax, "log_softmax": ops.LogSoftmax, "exponential": ops.Exp,
	"mish": ops.Mish, "hard_swish": ops.HardSwish, "hard_sigmoid": ops.HardSigmoid,
	"leaky_relu": func(c models.Context, x *G.Node) *G.Node { return ops.LeakyRelu(c, x, 0.2) },
}

// ActivationByName returns the activation with TensorFlow's name; "" is "linear". An
// unknown name is an error that lists the known ones.
func ActivationByName(name string) (Activation, error) {
	if name == "" {
		name = "linear"
	}
	if a := activations[name]; a != nil {
		return a, nil
	}
	known := slices.Sorted(maps.Keys(activations))
	return nil, fmt.Errorf("unknown activation %q: expected one of %s", name, strings.Join(known, ", "))
}

// Activate applies the activation of that name.
func Activate(c models.Context, x *G.Node, name string) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	a, err := ActivationByName(name)
	if err != nil {
		c.Core().Failf("%w", err)
		return nil
	}
	return a(c, x)
}
