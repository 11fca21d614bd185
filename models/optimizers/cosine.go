package optimizers

import "math"

// Cosine goes from Initial to Alpha*Initial in Steps along half a cosine
// (Loshchilov and Hutter 2016; tf.compat.v1.train.cosine_decay).
type Cosine struct {
	Initial, Alpha float64
	Steps          int64
}

// At returns the rate at a step.
func (s Cosine) At(step int64) float64 { return at(s, step) }
func (s Cosine) rate(c calc, step num) num {
	n := number(float64(s.Steps))
	return cosine(c, c.div(c.min(step, n), n), number(1), s.Initial, s.Alpha)
}

// cosine is initial * ((1-alpha)*scale*(1+cos(pi*x))/2 + alpha).
func cosine(c calc, x, scale num, initial, alpha float64) num {
	h := c.mul(c.mul(number(0.5), scale), c.add(number(1), c.cos(c.mul(number(math.Pi), x))))
	return c.mul(number(initial), c.add(c.mul(number(1-alpha), h), number(alpha)))
}

// CosineRestarts is Cosine begun anew after each period, periods growing by
// TMul and initial rates by MMul (SGDR; tf.compat.v1.train.cosine_decay_restarts).
type CosineRestarts struct {
	Initial, Alpha, TMul, MMul float64
	Steps                      int64 // of the first period
}

// rounding keeps a logarithm that is a hair below a whole number from losing a restart.
const rounding = 1e-9

// At returns the rate at a step.
func (s CosineRestarts) At(step int64) float64 { return at(s, step) }
func (s CosineRestarts) rate(c calc, step num) num {
	x := c.div(step, number(float64(s.Steps))) // in first periods
	one := number(1)
	var restarts, within num
	if s.TMul == 1 {
		restarts = c.floor(x)
		within = c.sub(x, restarts)
	} else {
		// The first i periods take (1-TMul^i)/(1-TMul).
		ratio := number(1 - s.TMul)
		restarts = c.floor(c.add(c.div(c.log(c.sub(one, c.mul(x, ratio))), number(math.Log(s.TMul))), number(rounding)))
		grown := c.pow(number(s.TMul), restarts)
		within = c.div(c.sub(x, c.div(c.sub(one, grown), ratio)), grown)
	}
	// MMul scales the cosine alone, as in TensorFlow; alpha is of the first rate.
	return cosine(c, within, c.pow(number(s.MMul), restarts), s.Initial, s.Alpha)
}

// Noam is Initial * Model^-0.5 * min(t^-0.5, t*Warmup^-1.5) with t = step+1
// (Vaswani et al. 2017, section 5.3).
type Noam struct {
	Initial float64
	Model   int64 // width of the model
	Warmup  int64 // steps of growth, > 0
}

// At returns the rate at a step.
func (s Noam) At(step int64) float64 { return at(s, step) }
func (s Noam) rate(c calc, step num) num {
	t := c.add(step, number(1))
	scale := s.Initial / math.Sqrt(float64(s.Model))
	return c.mul(number(scale), c.min(c.div(number(1), c.sqrt(t)), c.mul(t, number(math.Pow(float64(s.Warmup), -1.5)))))
}

// Warmup grows linearly from 0 to what Then begins with in Steps steps, and is
// Then from there on: Then's step 0 is the warm-up's end.
type Warmup struct {
	Steps int64 // > 0
	Then  Schedule
}

// At returns the rate at a step.
func (s Warmup) At(step int64) float64 { return at(s, step) }
func (s Warmup) rate(c calc, step num) num {
	n := number(float64(s.Steps))
	growing := c.mul(number(s.Then.At(0)), c.div(step, n))
	// Then is evaluated before its beginning too, where it is not used.
	return c.whenLess(step, n, growing, s.Then.rate(c, c.max(c.sub(step, n), number(0))))
}
