package initializers

import (
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/tensor"
)

// Initializer fills t. Equal keys give equal values.
type Initializer interface {
	Init(t *tensor.Tensor, key uint64) error
}

// makers make initializers from their parameters. Defaults are TensorFlow's.
var makers = registry.New("initializer", map[string]func(p *params.Reader) Initializer{
	"zeros":    func(*params.Reader) Initializer { return Zeros() },
	"ones":     func(*params.Reader) Initializer { return Ones() },
	"constant": func(p *params.Reader) Initializer { return Constant{p.Float("value", 0)} },
	"random_uniform": func(p *params.Reader) Initializer {
		return RandomUniform{p.Float("min", -0.05), p.Float("max", 0.05)}
	},
	"random_normal": func(p *params.Reader) Initializer {
		return RandomNormal{p.Float("mean", 0), p.Float("stddev", 0.05)}
	},
	"truncated_normal": func(p *params.Reader) Initializer {
		return TruncatedNormal{p.Float("mean", 0), p.Float("stddev", 0.05)}
	},
	"glorot_uniform": func(*params.Reader) Initializer { return GlorotUniform() },
	"glorot_normal":  func(*params.Reader) Initializer { return GlorotNormal() },
	"he_uniform":     func(*params.Reader) Initializer { return HeUniform() },
	"he_normal":      func(*params.Reader) Initializer { return HeNormal() },
	"lecun_uniform":  func(*params.Reader) Initializer { return LecunUniform() },
	"lecun_normal":   func(*params.Reader) Initializer { return LecunNormal() },
	"variance_scaling": func(p *params.Reader) Initializer {
		v := VarianceScaling{p.Float("scale", 1), p.String("mode", "fan_in"), p.String("distribution", "truncated_normal")}
		if err := v.validate(); err != nil {
			p.Fail(err)
		}
		return v
	},
	"orthogonal": func(p *params.Reader) Initializer { return Orthogonal{p.Float("gain", 1)} },
	"identity":   func(p *params.Reader) Initializer { return Identity{p.Float("gain", 1)} },
})

// Names returns the names that New knows, sorted.
func Names() []string { return makers.Names() }

// New returns the initializer with TensorFlow's name and the given parameters (nil:
// the defaults). Unknown names and parameters are errors that list the known ones.
func New(name string, parameters map[string]any) (Initializer, error) {
	make, err := makers.Lookup(name)
	if err != nil {
		return nil, err
	}
	p := params.Read("initializer "+name, parameters)
	i := make(p)
	if err := p.Done(); err != nil {
		return nil, err
	}
	return i, nil
}
