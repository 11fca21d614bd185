package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Norm are the options of normalizing layers. The zero value gives tf.layers' defaults.
type Norm struct {
	Name             string             // scope; "" is the layer's own name, made unique
	Momentum         float64            // of the moving averages of BatchNorm; 0: 0.99
	Epsilon          float64            // added to the variance; 0: 1e-3
	NoScale          bool               // leave gamma out
	NoCenter         bool               // leave beta out
	GammaInit        models.Initializer // nil: ones
	GammaRegularizer models.Regularizer
}

// BatchNorm normalises x [batch, ..., channels] per channel (Ioffe and Szegedy
// 2015). In Train it uses the batch's statistics, towards which the untrained moving
// averages moving_mean and moving_variance move. In the other modes, and if both are
// frozen, it uses the moving averages. Images (rank 4) use the fused op, whose moving
// variance is Bessel-corrected, as in TensorFlow.
func BatchNorm(c models.Context, x *G.Node, o Norm) (y *G.Node) {
	if !usable(c, "batch_normalization", x, 2, 3, 4) {
		return nil
	}
	o.Momentum, o.Epsilon = orDefault(o.Momentum, 0.99), orDefault(o.Epsilon, 1e-3)
	channels := x.Shape()[len(x.Shape())-1]
	scope(c, o.Name, "batch_normalization", func() {
		n := ops.Norm{Epsilon: o.Epsilon}
		n.Scale, n.Offset = o.affine(c, channels)
		n.Mean = c.Core().Variable("moving_mean", []int{channels}, models.WithInit(initializers.Zeros()), models.NonTrainable())
		n.Variance = c.Core().Variable("moving_variance", []int{channels}, models.WithInit(initializers.Ones()), models.NonTrainable())
		n.Training = c.Core().Training() && !(frozen(c, n.Mean) && frozen(c, n.Variance))
		normalize := composed
		if len(x.Shape()) == 4 {
			normalize = fused
		}
		var mean, variance *G.Node
		y, mean, variance = normalize(c, x, n)
		if n.Training {
			follow(c, n.Mean, mean, o.Momentum)
			follow(c, n.Variance, variance, o.Momentum)
		}
	})
	return y
}

// frozen reports whether training does not change a variable.
func frozen(c models.Context, variable *G.Node) bool {
	v := c.Core().VariableOf(variable)
	return v != nil && v.Frozen
}

func orDefault(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}

// affine makes gamma and beta; nil if they are left out.
func (o Norm) affine(c models.Context, channels int) (gamma, beta *G.Node) {
	if !o.NoScale {
		opts := []models.VarOption{models.WithInit(initializers.Ones())}
		if o.GammaInit != nil {
			opts = append(opts, models.WithInit(o.GammaInit))
		}
		if o.GammaRegularizer != nil {
			opts = append(opts, models.WithRegularizer(o.GammaRegularizer))
		}
		gamma = c.Core().Variable("gamma", []int{channels}, opts...)
	}
	if !o.NoCenter {
		beta = c.Core().Variable("beta", []int{channels}, models.WithInit(initializers.Zeros()))
	}
	return gamma, beta
}

func fused(c models.Context, x *G.Node, n ops.Norm) (y, mean, variance *G.Node) {
	if c.Core().Failed() {
		return nil, nil, nil
	}
	if n.Scale == nil {
		n.Scale = ops.OnesLike(c, n.Mean)
	}
	if n.Offset == nil {
		n.Offset = ops.ZerosLike(c, n.Mean)
	}
	return ops.FusedBatchNorm(c, x, n)
}

// composed normalises tensors other than images, as tf.nn.moments and
// tf.nn.batch_normalization do; the variance is not corrected.
func composed(c models.Context, x *G.Node, n ops.Norm) (y, mean, variance *G.Node) {
	if c.Core().Failed() {
		return nil, nil, nil
	}
	mean, variance = n.Mean, n.Variance
	if n.Training {
		mean, variance = moments(c, x, ops.Axes(allBut(x)...))
	}
	return standardize(c, x, affineOf{mean, variance, n.Scale, n.Offset, n.Epsilon}), mean, variance
}

func allBut(x *G.Node) []int {
	axes := make([]int, len(x.Shape())-1)
	for i := range axes {
		axes[i] = i
	}
	return axes
}

// moments returns mean and variance (divided by n) over the reduction's axes.
func moments(c models.Context, x *G.Node, r ops.Reduction) (mean, variance *G.Node) {
	keep := r
	keep.KeepDims = true
	centre := ops.Mean(c, x, keep)
	variance = ops.Mean(c, ops.SquaredDifference(c, x, ops.StopGradient(c, centre)), r)
	if r.KeepDims || c.Core().Failed() {
		return centre, variance
	}
	return ops.Squeeze(c, centre, r.Axes...), variance
}

type affineOf struct {
	mean, variance, gamma, beta *G.Node
	epsilon                     float64
}

// standardize returns (x-mean)·rsqrt(variance+epsilon)·gamma + beta, in the
// order of tf.nn.batch_normalization.
func standardize(c models.Context, x *G.Node, a affineOf) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	inv := ops.Rsqrt(c, ops.Add(c, a.variance, ops.Scalar(c, models.GraphType(x.Dtype()), a.epsilon)))
	if a.gamma != nil {
		inv = ops.Mul(c, inv, a.gamma)
	}
	shift := ops.Mul(c, a.mean, inv)
	if a.beta != nil {
		shift = ops.Sub(c, a.beta, shift)
	} else {
		shift = ops.Neg(c, shift)
	}
	return ops.Add(c, ops.Mul(c, x, inv), shift)
}

// follow moves a moving average towards value: average -= (average-value)·(1-momentum).
func follow(c models.Context, average, value *G.Node, momentum float64) {
	if c.Core().Failed() {
		return
	}
	c.Core().Scope("AssignMovingAvg", func() {
		rest := ops.Scalar(c, models.GraphType(average.Dtype()), 1-momentum)
		step := ops.Mul(c, ops.Sub(c, average, ops.StopGradient(c, value)), rest)
		c.Core().Assign(average, ops.Sub(c, average, step))
	})
}
