package optimizers

import "math"

// Schedule is a learning rate that may depend on the step.
type Schedule interface {
	// At returns the rate at a step.
	At(step int64) float64
	// rate is the formula, over a number or a node of the graph.
	rate(c calc, step num) num
}

// at evaluates a schedule's formula at a number.
func at(s Schedule, step int64) float64 { return s.rate(calc{}, number(float64(step))).v }

// Constant is the same rate at every step.
type Constant float64

// At returns the rate.
func (s Constant) At(int64) float64   { return float64(s) }
func (s Constant) rate(calc, num) num { return number(float64(s)) }

// Decay holds what the decaying schedules share.
type Decay struct {
	Initial   float64
	Steps     int64   // of one period, > 0
	Rate      float64 // > 0
	Staircase bool    // decay at the ends of periods only
}

func (d Decay) periods(c calc, step num) num {
	p := c.div(step, number(float64(d.Steps)))
	if d.Staircase {
		return c.floor(p)
	}
	return p
}

// Exponential is Initial * Rate^(step/Steps) (tf.compat.v1.train.exponential_decay).
type Exponential struct{ Decay }

// At returns the rate at a step.
func (s Exponential) At(step int64) float64 { return at(s, step) }
func (s Exponential) rate(c calc, step num) num {
	return c.mul(number(s.Initial), c.pow(number(s.Rate), s.periods(c, step)))
}

// InverseTime is Initial / (1 + Rate*step/Steps) (tf.compat.v1.train.inverse_time_decay).
type InverseTime struct{ Decay }

// At returns the rate at a step.
func (s InverseTime) At(step int64) float64 { return at(s, step) }
func (s InverseTime) rate(c calc, step num) num {
	return c.div(number(s.Initial), c.add(number(1), c.mul(number(s.Rate), s.periods(c, step))))
}

// NaturalExp is Initial * exp(-Rate*step/Steps) (tf.compat.v1.train.natural_exp_decay).
type NaturalExp struct{ Decay }

// At returns the rate at a step.
func (s NaturalExp) At(step int64) float64 { return at(s, step) }
func (s NaturalExp) rate(c calc, step num) num {
	return c.mul(number(s.Initial), c.exp(c.mul(number(-s.Rate), s.periods(c, step))))
}

// PiecewiseConstant is Values[i] up to and including step Boundaries[i], and
// the last value after them (tf.compat.v1.train.piecewise_constant); NaN where
// there is not one value more than boundaries.
type PiecewiseConstant struct {
	Boundaries []int64 // increasing
	Values     []float64
}

// At returns the rate at a step.
func (s PiecewiseConstant) At(step int64) float64 { return at(s, step) }
func (s PiecewiseConstant) rate(c calc, step num) num {
	if len(s.Values) != len(s.Boundaries)+1 {
		return number(math.NaN())
	}
	r := number(s.Values[0])
	for i, b := range s.Boundaries {
		r = c.whenLess(number(float64(b)), step, number(s.Values[i+1]), r)
	}
	return r
}

// Polynomial goes from Initial to End in Steps along (1-x)^Power; Cycle
// stretches the period by whole multiples when its end is reached
// (tf.compat.v1.train.polynomial_decay).
type Polynomial struct {
	Initial, End, Power float64
	Steps               int64
	Cycle               bool
}

// At returns the rate at a step.
func (s Polynomial) At(step int64) float64 { return at(s, step) }
func (s Polynomial) rate(c calc, step num) num {
	n := number(float64(s.Steps))
	if s.Cycle {
		// -floor(-x) is ceil, which the graph has no op for.
		ceil := c.mul(c.floor(c.div(step, c.mul(n, number(-1)))), number(-1))
		n = c.mul(n, c.max(ceil, number(1)))
	} else {
		step = c.min(step, n)
	}
	left := c.sub(number(1), c.div(step, n))
	return c.add(c.mul(number(s.Initial-s.End), c.pow(left, number(s.Power))), number(s.End))
}
