package networks

import (
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/models/layers"
)

// Params decodes a network's parameters. Each getter takes a key, which becomes a known
// one, and a default. Errors are collected. Numbers, booleans and lists may be text.
type Params struct{ r *params.Reader }

// Int returns an integer of at least min.
func (p *Params) Int(key string, def, min int) int { return p.r.Int(key, def, min) }

// Ints returns a list of integers of at least min.
func (p *Params) Ints(key string, min int, def ...int) []int { return p.r.Ints(key, min, def...) }

// Float returns a number.
func (p *Params) Float(key string, def float64) float64 { return p.r.Float(key, def) }

// FloatIn returns a number in min..max.
func (p *Params) FloatIn(key string, def, min, max float64) float64 {
	return p.r.FloatIn(key, def, min, max)
}

// Rate returns a number in 0..1, 1 excluded.
func (p *Params) Rate(key string, def float64) float64 { return p.r.Rate(key, def) }

// Floats returns a list of numbers.
func (p *Params) Floats(key string, def ...float64) []float64 { return p.r.Floats(key, def...) }

// Bool returns a boolean.
func (p *Params) Bool(key string, def bool) bool { return p.r.Bool(key, def) }

// String returns a string.
func (p *Params) String(key, def string) string { return p.r.String(key, def) }

// Refuse records an error for a parameter, unless the parameter has one already.
func (p *Params) Refuse(key string, err error) { p.r.Refuse(key, err) }

// Activation returns an activation by its name, as layers.ActivationByName does.
func (p *Params) Activation(key, def string) layers.Activation {
	a, err := layers.ActivationByName(p.String(key, def))
	if err != nil {
		p.Refuse(key, err)
	}
	return a
}
