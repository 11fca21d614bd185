package networks

import (
	"github.com/goestimator/goestimator/models/internal/params"
	"github.com/goestimator/goestimator/models/layers"
)

// Params decodes a network's parameters. Every getter names a key, which makes
// it known, and a default; errors are collected. Numbers, truth values and
// lists may be text.
type Params struct{ *params.Reader }

// Activation returns the activation of a name that layers.ActivationByName knows.
func (p *Params) Activation(key, def string) layers.Activation {
	a, err := layers.ActivationByName(p.String(key, def))
	if err != nil {
		p.Refuse(key, err)
	}
	return a
}
