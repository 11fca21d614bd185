package optimizers

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/models/expr"
)

// Schedule is a learning rate that may depend on the step. Any type may implement it:
// strategies, devices and parameter servers only need the formula.
type Schedule interface {
	// At returns the rate at a step, a scalar. If the step is a number, the rate must be
	// one, too.
	At(step expr.Expr) expr.Expr
}

// RateAt returns the rate of s at a step, NaN if the result is not a number.
func RateAt(s Schedule, step int64) float64 {
	rate := s.At(expr.Number(float64(step)))
	if v, ok := rate.Value(); ok {
		return v
	}
	// For a ReduceOnPlateau this is the initial rate.
	if p := expr.Trace(rate); slices.Equal(p.Inputs(), []string{PlateauInput}) {
		if v, ok := p.Bind(map[string]expr.Expr{PlateauInput: expr.Number(1)})[0].Value(); ok {
			return v
		}
	}
	return math.NaN()
}

// Constant is the same rate at every step.
type Constant float64

// At returns the rate.
func (s Constant) At(expr.Expr) expr.Expr { return expr.Number(float64(s)) }

// Decay holds what the decaying schedules share.
type Decay struct {
	Initial   float64
	Steps     int64   // of one period, > 0
	Rate      float64 // > 0
	Staircase bool    // decay only at the end of each period
}

func (d Decay) periods(step expr.Expr) expr.Expr {
	p := step.Div(expr.Number(float64(d.Steps)))
	if d.Staircase {
		return p.Floor()
	}
	return p
}

// Exponential is Initial * Rate^(step/Steps) (tf.compat.v1.train.exponential_decay).
type Exponential struct{ Decay }

// At returns the rate at a step.
func (s Exponential) At(step expr.Expr) expr.Expr {
	return expr.Number(s.Initial).Mul(expr.Number(s.Rate).Pow(s.periods(step)))
}

// InverseTime is Initial / (1 + Rate*step/Steps) (tf.compat.v1.train.inverse_time_decay).
type InverseTime struct{ Decay }

// At returns the rate at a step.
func (s InverseTime) At(step expr.Expr) expr.Expr {
	return expr.Number(s.Initial).Div(expr.Number(1).Add(expr.Number(s.Rate).Mul(s.periods(step))))
}

// NaturalExp is Initial * exp(-Rate*step/Steps) (tf.compat.v1.train.natural_exp_decay).
type NaturalExp struct{ Decay }

// At returns the rate at a step.
func (s NaturalExp) At(step expr.Expr) expr.Expr {
	return expr.Number(s.Initial).Mul(expr.Number(-s.Rate).Mul(s.periods(step)).Exp())
}

// PiecewiseConstant is Values[i] up to and including step Boundaries[i], and the last
// value after that (tf.compat.v1.train.piecewise_constant). It is NaN unless there is
// one more value than boundaries.
type PiecewiseConstant struct {
	Boundaries []int64 // increasing
	Values     []float64
}

// At returns the rate at a step.
func (s PiecewiseConstant) At(step expr.Expr) expr.Expr {
	if len(s.Values) != len(s.Boundaries)+1 {
		return expr.Number(math.NaN())
	}
	r := expr.Number(s.Values[0])
	for i, b := range s.Boundaries {
		r = expr.WhenLess(expr.Number(float64(b)), step, expr.Number(s.Values[i+1]), r)
	}
	return r
}

// Polynomial goes from Initial to End in Steps along (1-x)^Power. With Cycle, the
// period is extended to the next multiple of Steps when its end is reached
// (tf.compat.v1.train.polynomial_decay).
type Polynomial struct {
	Initial, End, Power float64
	Steps               int64
	Cycle               bool
}

// At returns the rate at a step.
func (s Polynomial) At(step expr.Expr) expr.Expr {
	n := expr.Number(float64(s.Steps))
	if s.Cycle {
		ceil := step.Div(n.Times(-1)).Floor().Times(-1)
		n = n.Mul(ceil.Max(expr.Number(1)))
	} else {
		step = step.Min(n)
	}
	left := expr.Number(1).Sub(step.Div(n))
	return expr.Number(s.Initial - s.End).Mul(left.Pow(expr.Number(s.Power))).Plus(s.End)
}
