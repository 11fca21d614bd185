package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Autoencoder encodes numbers into a short code, and decodes the code, by dense layers. A variational one draws the code from a normal
// distribution whose mean and variance it computes (Kingma and Welling 2013).
type Autoencoder struct {
	Hidden      []int // units of the layers before the code; after it they are reversed
	Code        int
	Variational bool
	Activation  layers.Activation // of hidden layers; nil: relu
}

// Encode returns the code of x [batch, n], [batch, Code]. If the autoencoder is variational, the code is the mean, or drawn in training, and
// divergence [batch] is the distribution's divergence from the standard normal one, summed over the code. Otherwise divergence is nil.
func (a Autoencoder) Encode(c models.Context, x *G.Node) (code, divergence *G.Node) {
	if !a.usable(c, x) {
		return nil, nil
	}
	c.Core().Scope("encoder", func() {
		for _, n := range a.Hidden {
			x = layers.Dense(c, x, n, layers.Weights{Activation: a.act()})
		}
		code = layers.Dense(c, x, a.Code, layers.Weights{Name: "code"})
		if !a.Variational {
			return
		}
		logVariance := layers.Dense(c, x, a.Code, layers.Weights{Name: "log_variance"})
		if c.Core().Failed() {
			return
		}
		d := models.GraphType(code.Dtype())
		each := ops.Sub(c, ops.Add(c, ops.Square(c, code), ops.Exp(c, logVariance)), ops.Add(c, logVariance, ops.Scalar(c, d, 1)))
		divergence = ops.Mul(c, ops.Sum(c, each, ops.Axes(1)), ops.Scalar(c, d, 0.5))
		if c.Core().Training() {
			code = ops.Add(c, code, ops.Mul(c, ops.RandomNormal(c, code, 0, 1), ops.Exp(c, ops.Mul(c, logVariance, ops.Scalar(c, d, 0.5)))))
		}
	})
	return code, divergence
}

// Decode returns n numbers for each code [batch, Code]: [batch, n]. The caller may bound them by an activation.
func (a Autoencoder) Decode(c models.Context, code *G.Node, n int) (x *G.Node) {
	if !a.usable(c, code) {
		return nil
	}
	c.Core().Scope("decoder", func() {
		x = code
		for i := len(a.Hidden) - 1; i >= 0; i-- {
			x = layers.Dense(c, x, a.Hidden[i], layers.Weights{Activation: a.act()})
		}
		x = layers.Dense(c, x, n, layers.Weights{Name: "output"})
	})
	return x
}

func (a Autoencoder) act() layers.Activation {
	if a.Activation == nil {
		return ops.Relu
	}
	return a.Activation
}

func (a Autoencoder) usable(c models.Context, x *G.Node) bool {
	if c.Core().Failed() {
		return false
	}
	if x == nil || len(x.Shape()) != 2 || a.Code < 1 {
		c.Core().Failf("autoencoder: a code of %d: expected numbers [batch, n], and a code of 1 or more", a.Code)
		return false
	}
	return true
}

// autoencoder is Autoencoder on all features, for a head whose labels are the features; 0 outputs means as many as the features
// have. Parameters: hidden_units (128), code (16), variational (false), activation (relu) and, for a variational one, divergence (1): the
// weight of the mean divergence, which is added to the loss. Predictions include the code.
func autoencoder(p *Params) Network {
	a := Autoencoder{Hidden: p.Ints("hidden_units", 1, 128), Code: p.Int("code", 16, 1), Variational: p.Bool("variational", false), Activation: p.Activation("activation", "relu")}
	weight := p.FloatIn("divergence", 1, 0, 1e6)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x := Vector(c, f)
		if outputs == 0 && !c.Core().Failed() {
			outputs = x.Shape()[1]
		}
		code, divergence := a.Encode(c, x)
		c.Core().AddPrediction("code", code)
		if divergence != nil && !c.Core().Failed() {
			c.Core().AddLoss(ops.Mul(c, ops.Mean(c, divergence), ops.Scalar(c, models.GraphType(divergence.Dtype()), weight)))
		}
		return a.Decode(c, code, outputs)
	}
}
