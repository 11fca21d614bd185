package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Weights are the options of a layer with a kernel. The zero value gives
// tf.layers' defaults.
type Weights struct {
	Name              string             // scope; "" is the layer's own name, made unique
	Activation        Activation         // nil: linear
	NoBias            bool               // leave the bias out
	KernelInit        models.Initializer // nil: Glorot uniform
	BiasInit          models.Initializer // nil: zeros
	KernelRegularizer models.Regularizer // nil: none
	BiasRegularizer   models.Regularizer // nil: none
}

// scope runs fn in the scope name or, if that is "", in a unique scope named after the layer.
func scope(c models.Context, name, layer string, fn func()) {
	if c.Core().Failed() {
		return
	}
	if name != "" {
		c.Core().Scope(name, fn)
		return
	}
	c.Core().UniqueScope(layer, fn)
}

// usable reports whether a layer can inspect x: nothing has failed, and x is a node
// with one of the given ranks.
func usable(c models.Context, layer string, x *G.Node, ranks ...int) bool {
	b := c.Core()
	if b.Failed() {
		return false
	}
	if x == nil {
		b.Failf("%s: the input is nil: expected a node", layer)
		return false
	}
	got := len(x.Shape())
	for _, r := range ranks {
		if got == r {
			return true
		}
	}
	if len(ranks) > 0 {
		b.Failf("%s: the input has shape %v: expected rank %v", layer, x.Shape(), ranks)
	}
	return len(ranks) == 0
}

func (w Weights) kernel(c models.Context, name string, shape ...int) *G.Node {
	opts := []models.VarOption{}
	if w.KernelInit != nil {
		opts = append(opts, models.WithInit(w.KernelInit))
	}
	if w.KernelRegularizer != nil {
		opts = append(opts, models.WithRegularizer(w.KernelRegularizer))
	}
	return c.Core().Variable(name, shape, opts...)
}

// finish adds bias and activation.
func (w Weights) finish(c models.Context, y *G.Node, channels int) *G.Node {
	if !w.NoBias {
		opts := []models.VarOption{models.WithInit(initializers.Zeros())}
		if w.BiasInit != nil {
			opts = append(opts, models.WithInit(w.BiasInit))
		}
		if w.BiasRegularizer != nil {
			opts = append(opts, models.WithRegularizer(w.BiasRegularizer))
		}
		y = ops.BiasAdd(c, y, c.Core().Variable("bias", []int{channels}, opts...))
	}
	if w.Activation != nil {
		y = w.Activation(c, y)
	}
	return y
}
