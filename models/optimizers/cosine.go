package optimizers

import (
	"math"

	"github.com/goestimator/goestimator/models/expr"
)

// Cosine goes from Initial to Alpha*Initial in Steps along half a cosine
// (Loshchilov and Hutter 2016; tf.compat.v1.train.cosine_decay).
type Cosine struct {
	Initial, Alpha float64
	Steps          int64
}

// At returns the rate at a step.
func (s Cosine) At(step expr.Expr) expr.Expr {
	n := expr.Number(float64(s.Steps))
	return cosine(step.Min(n).Div(n), expr.Number(1), s.Initial, s.Alpha)
}

// cosine is initial * ((1-alpha)*scale*(1+cos(pi*x))/2 + alpha).
func cosine(x, scale expr.Expr, initial, alpha float64) expr.Expr {
	h := expr.Number(0.5).Mul(scale).Mul(expr.Number(1).Add(expr.Number(math.Pi).Mul(x).Cos()))
	return expr.Number(initial).Mul(expr.Number(1 - alpha).Mul(h).Plus(alpha))
}

// CosineRestarts is Cosine restarted after each period. Periods grow by TMul,
// initial rates by MMul (SGDR; tf.compat.v1.train.cosine_decay_restarts).
type CosineRestarts struct {
	Initial, Alpha, TMul, MMul float64
	Steps                      int64 // of the first period
}

// rounding prevents a logarithm slightly below a whole number from losing a restart.
const rounding = 1e-9

// At returns the rate at a step.
func (s CosineRestarts) At(step expr.Expr) expr.Expr {
	x := step.Div(expr.Number(float64(s.Steps))) // in units of the first period
	one := expr.Number(1)
	var restarts, within expr.Expr
	if s.TMul == 1 {
		restarts = x.Floor()
		within = x.Sub(restarts)
	} else {
		// The first i periods take (1-TMul^i)/(1-TMul).
		ratio := expr.Number(1 - s.TMul)
		restarts = one.Sub(x.Mul(ratio)).Log().Div(expr.Number(math.Log(s.TMul))).Plus(rounding).Floor()
		grown := expr.Number(s.TMul).Pow(restarts)
		within = x.Sub(one.Sub(grown).Div(ratio)).Div(grown)
	}
	// MMul scales only the cosine, as in TensorFlow; alpha is relative to the first rate.
	return cosine(within, expr.Number(s.MMul).Pow(restarts), s.Initial, s.Alpha)
}

// Noam is Initial * Model^-0.5 * min(t^-0.5, t*Warmup^-1.5) with t = step+1
// (Vaswani et al. 2017, section 5.3).
type Noam struct {
	Initial float64
	Model   int64 // width of the model
	Warmup  int64 // steps of growth, > 0
}

// At returns the rate at a step.
func (s Noam) At(step expr.Expr) expr.Expr {
	t := step.Plus(1)
	scale := s.Initial / math.Sqrt(float64(s.Model))
	return expr.Number(scale).Mul(expr.Number(1).Div(t.Sqrt()).Min(t.Times(math.Pow(float64(s.Warmup), -1.5))))
}

// Warmup grows linearly from 0 to the first rate of Then in Steps steps. After that it
// is Then, whose step 0 is the end of the warm-up.
type Warmup struct {
	Steps int64 // > 0
	Then  Schedule
}

// At returns the rate at a step.
func (s Warmup) At(step expr.Expr) expr.Expr {
	if s.Then == nil {
		return expr.Number(math.NaN()) // Minimize reports it
	}
	n := expr.Number(float64(s.Steps))
	growing := expr.Number(RateAt(s.Then, 0)).Mul(step.Div(n))
	// Then is also evaluated before its beginning, although it is not used there.
	return expr.WhenLess(step, n, growing, s.Then.At(step.Sub(n).Max(expr.Number(0))))
}
