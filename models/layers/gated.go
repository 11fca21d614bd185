package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Gated is a dense layer whose result is multiplied by the activation of a second one.
// With sigmoid it is the gated linear unit (Dauphin et al. 2017), with swish SwiGLU
// (Shazeer 2020). Its variables are gate/kernel and linear/kernel [features, units], and biases.
func Gated(c models.Context, x *G.Node, units int, w Weights) (y *G.Node) {
	if !usable(c, "gated", x) {
		return nil
	}
	act := w.Activation
	if act == nil {
		act = ops.Sigmoid
	}
	scope(c, w.Name, "gated", func() {
		w.Name, w.Activation = "gate", act
		gate := Dense(c, x, units, w)
		w.Name, w.Activation = "linear", nil
		y = ops.Mul(c, Dense(c, x, units, w), gate)
	})
	return y
}

// PReLU is x where it is positive, else alpha·x, with a trained alpha, initially 0, for
// each feature (He et al. 2015). shared lists the dimensions of x, counted from 1 after the batch, that share one alpha.
func PReLU(c models.Context, x *G.Node, shared ...int) (y *G.Node) {
	if !usable(c, "p_re_lu", x) {
		return nil
	}
	shape := append([]int{}, x.Shape()[min(1, len(x.Shape())):]...)
	for _, k := range shared {
		if k < 1 || k > len(shape) {
			c.Core().Failf("p_re_lu: shared dimension %d of shape %v: expected 1..%d", k, x.Shape(), len(shape))
			return nil
		}
		shape[k-1] = 1
	}
	scope(c, "", "p_re_lu", func() {
		alpha := c.Core().Variable("alpha", shape, models.WithInit(initializers.Zeros()))
		y = ops.Sub(c, ops.Relu(c, x), ops.Mul(c, alpha, ops.Relu(c, ops.Neg(c, x))))
	})
	return y
}

// SpatialDropout in Train drops whole channels of x [batch, ..., channels], the same at
// all places of an example (Tompson et al. 2015), and scales the others by 1/(1-rate).
func SpatialDropout(c models.Context, x *G.Node, rate float64) (y *G.Node) {
	const name = "spatial_dropout"
	if !usable(c, name, x, 3, 4, 5) {
		return nil
	}
	if !(rate >= 0 && rate < 1) {
		c.Core().Failf("%s: rate %v: expected 0 <= rate < 1", name, rate)
		return nil
	}
	if rate == 0 || !c.Core().Training() {
		return x
	}
	begin, size := make([]int, len(x.Shape())), make([]int, len(x.Shape()))
	for i := range size {
		size[i] = 1
	}
	size[0], size[len(size)-1] = -1, -1
	scope(c, "", name, func() {
		y = ops.Mul(c, x, ops.Dropout(c, ops.OnesLike(c, ops.Slice(c, x, begin, size)), rate))
	})
	return y
}

// Bidirectional runs one recurrent layer forwards along x [batch, T, features] and
// another one backwards, and joins their outputs of each step: [batch, T, 2·units].
// The scopes of their variables are the cell's name with the prefixes forward_ and backward_. The forward half of
// the last step and the backward half of the first have seen the whole example, also with a mask (see Recurrent).
func Bidirectional(c models.Context, x, mask *G.Node, o Rnn) (y *G.Node) {
	if !usable(c, "bidirectional", x, 3) {
		return nil
	}
	if o.Cell == nil {
		c.Core().Failf("bidirectional: expected a cell")
		return nil
	}
	scope(c, o.Name, "bidirectional", func() {
		forward := Recurrent(c, x, mask, Rnn{Name: "forward_" + o.Cell.Name(), Cell: o.Cell})
		turned := mask
		if mask != nil {
			turned = ops.Reverse(c, mask, 1)
		}
		backward := Recurrent(c, ops.Reverse(c, x, 1), turned, Rnn{Name: "backward_" + o.Cell.Name(), Cell: o.Cell})
		y = ops.Concat(c, 2, forward, ops.Reverse(c, backward, 1))
	})
	return y
}
