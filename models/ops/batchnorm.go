package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Norm are the operands of a batch normalization, each [channels].
type Norm struct {
	Scale, Offset  *G.Node
	Mean, Variance *G.Node // the moving averages; used if Training is false
	Epsilon        float64 // added to the variance
	Training       bool    // normalise by the batch's own mean and variance
}

// FusedBatchNorm normalises x [batch, height, width, channels] per channel. It also
// returns the batch's mean and variance, [channels] each. In training the variance is
// Bessel-corrected, as in TensorFlow (FusedBatchNormV3). No gradient flows through
// mean and variance.
func FusedBatchNorm(c models.Context, x *G.Node, n Norm) (y, mean, variance *G.Node) {
	const name = "FusedBatchNormV3"
	in := []*G.Node{x, n.Scale, n.Offset}
	if !n.Training {
		in = append(in, n.Mean, n.Variance)
	}
	if !floats(c, name, in...) || !rank(c, name, "images", x, 4) {
		return nil, nil, nil
	}
	channel := kind{x.Dtype(), []int{x.Shape()[3]}}
	for i, v := range in[1:] {
		if s := v.Shape(); len(s) != 1 || s[0] != channel.shape[0] {
			c.Core().Failf("%s: operand %d has shape %v: expected %v", name, i+1, s, channel.shape)
			return nil, nil, nil
		}
	}
	t := models.GraphType(x.Dtype())
	attrs := graph.Attrs{"T": t, "U": t, "epsilon": float32(n.Epsilon), "data_format": []byte("NHWC"), "is_training": n.Training}
	s := spec{op: name, attrs: with(clone(attrs), "exponential_avg_factor", float32(1)), fixed: []int{3, 4},
		outs: []kind{kindOf(x), channel, channel, channel, channel, {x.Dtype(), []int{0}}},
		grad: func(a *adjoint) []*G.Node { return batchNormGrad(a, attrs, n.Training) }}
	if n.Training {
		s.emit = func(e *emission) []graph.Output {
			none := operand{name: "Const", tensor: tensor.New(t, 0)}
			return e.all(append(e.in, e.constant(none), e.constant(none))...)
		}
	}
	y = apply(c, s, in...)
	return y, output(c, y, 1), output(c, y, 2)
}

// batchNormGrad applies FusedBatchNormGradV3 to the statistics that the forward op
// saved, or to the moving averages.
func batchNormGrad(a *adjoint, attrs graph.Attrs, training bool) []*G.Node {
	x, scale := a.in[0], a.in[1]
	in := []*G.Node{a.grad, x, scale}
	if training {
		in = append(in, output(a, a.out, 3), output(a, a.out, 4))
	} else {
		in = append(in, a.in[3], a.in[4])
	}
	in = append(in, output(a, a.out, 5))
	if a.Failed() {
		return make([]*G.Node, len(a.in))
	}
	none := kind{x.Dtype(), []int{0}}
	dx := apply(a, spec{op: "FusedBatchNormGradV3", attrs: attrs, outs: []kind{kindOf(x), kindOf(scale), kindOf(scale), none, none}}, in...)
	return append([]*G.Node{dx, output(a, dx, 1), output(a, dx, 2)}, make([]*G.Node, len(a.in)-3)...)
}

func clone(a graph.Attrs) graph.Attrs {
	out := graph.Attrs{}
	for k, v := range a {
		out[k] = v
	}
	return out
}
