package optimizers

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/platform/params"
)

// bound is the range of a parameter.
type bound struct {
	low, high         float64
	openLow, openHigh bool // the end itself is not allowed
}

// bounds are the ranges of parameters: first those of rules, then those of schedules.
var bounds = map[string]bound{
	"momentum":                  {high: 1},
	"beta1":                     {high: 1, openHigh: true},
	"beta2":                     {high: 1, openHigh: true},
	"rho":                       {high: 1, openHigh: true},
	"epsilon":                   atLeastZero,
	"initial_accumulator_value": atLeastZero,
	"lr_power":                  atMostZero,
	"learning_rate_power":       atMostZero,
	"l1":                        atLeastZero,
	"l2":                        atLeastZero,
	"l2_shrinkage":              atLeastZero,
	"beta":                      atLeastZero,
	"weight_decay":              atLeastZero,

	"decay": {high: 1, openHigh: true},

	"initial":     atLeastZero,
	"decay_steps": aboveZero,
	"decay_rate":  aboveZero,
	"model_size":  aboveZero,

	"factor":    {high: 1, openLow: true, openHigh: true},
	"min_delta": atLeastZero,
	"min_lr":    atLeastZero,

	"pct_start":        {high: 1, openLow: true, openHigh: true},
	"div_factor":       aboveZero,
	"final_div_factor": aboveZero,
}

var (
	atLeastZero = bound{high: math.Inf(1)}
	atMostZero  = bound{low: math.Inf(-1)}
	aboveZero   = bound{high: math.Inf(1), openLow: true}
)

func (b bound) holds(x float64) bool {
	return x >= b.low && x <= b.high && !(b.openLow && x == b.low) && !(b.openHigh && x == b.high)
}

// String describes the range for error messages.
func (b bound) String() string {
	above, below := "expected >= ", "<= "
	if b.openLow {
		above = "expected > "
	}
	if b.openHigh {
		below = "< "
	}
	switch {
	case math.IsInf(b.high, 1):
		return fmt.Sprintf("%s%g", above, b.low)
	case math.IsInf(b.low, -1):
		return fmt.Sprintf("expected %s%g", below, b.high)
	}
	return fmt.Sprintf("%s%g and %s%g", above, b.low, below, b.high)
}

// bounded reads a parameter that has a range.
func bounded(p *params.Reader, name string, def float64) float64 {
	v := p.Float(name, def)
	if b := bounds[name]; !b.holds(v) {
		p.Refuse(name, fmt.Errorf("got %g, %s", v, b))
	}
	return v
}
