package optimizers

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/platform/registry"
)

// schedules makes schedules from their parameters.
var schedules = registry.New("schedule", map[string]func(p *params.Reader) Schedule{
	"constant":           func(p *params.Reader) Schedule { return Constant(initial(p)) },
	"exponential":        func(p *params.Reader) Schedule { return Exponential{readDecay(p)} },
	"inverse_time":       func(p *params.Reader) Schedule { return InverseTime{readDecay(p)} },
	"natural_exp":        func(p *params.Reader) Schedule { return NaturalExp{readDecay(p)} },
	"piecewise_constant": readPiecewise,
	"polynomial": func(p *params.Reader) Schedule {
		return Polynomial{Initial: initial(p), End: p.Float("end", 0), Power: p.Float("power", 1), Steps: positive(p, "decay_steps"), Cycle: p.Bool("cycle", false)}
	},
	"cosine": func(p *params.Reader) Schedule {
		return Cosine{Initial: initial(p), Alpha: p.Float("alpha", 0), Steps: positive(p, "decay_steps")}
	},
	"cosine_restarts": func(p *params.Reader) Schedule {
		s := CosineRestarts{Initial: initial(p), Alpha: p.Float("alpha", 0), TMul: p.Float("t_mul", 2), MMul: p.Float("m_mul", 1), Steps: positive(p, "decay_steps")}
		if !(s.TMul >= 1) || !(s.MMul > 0) {
			p.Fail(fmt.Errorf("t_mul %g, m_mul %g: expected t_mul >= 1 and m_mul > 0", s.TMul, s.MMul))
		}
		return s
	},
	"one_cycle": func(p *params.Reader) Schedule {
		s := OneCycle{Max: initial(p), Steps: positive(p, "decay_steps"), Rise: bounded(p, "pct_start", 0.3), Start: bounded(p, "div_factor", 25), End: bounded(p, "final_div_factor", 1e4)}
		if p.Has("decay_steps") && s.Rise*float64(s.Steps) <= 1 {
			p.Fail(fmt.Errorf("pct_start %g of decay_steps %d: expected more than one step", s.Rise, s.Steps))
		}
		return s
	},
	"plateau": readPlateau,
	"noam": func(p *params.Reader) Schedule {
		return Noam{Initial: bounded(p, "initial", 1), Model: positive(p, "model_size"), Warmup: positive(p, "decay_steps")}
	},
})

// init adds the composed schedules, whose parts NewSchedule reads.
func init() {
	if err := errors.Join(schedules.Register("sequence", readSequence), schedules.Register("product", readProduct)); err != nil {
		panic(err) // both names are new
	}
}

// NewSchedule returns a learning rate from a value in a config file: a number, or a map
// with the name of the schedule (key schedule; default constant), its parameters, and
// warmup_steps, which prepends a linear warm-up. The schedules sequence and product have
// a list of such values, parts.
func NewSchedule(spec any) (Schedule, error) {
	m, ok := spec.(map[string]any)
	if !ok {
		m = map[string]any{"initial": spec}
	}
	p := params.Read("learning_rate", m)
	name := p.String("schedule", "constant")
	read, err := schedules.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("learning_rate: %w", err)
	}
	s := read(p)
	warmup := int64(p.Int("warmup_steps", 0, 0))
	if err := p.Done(); err != nil {
		return nil, err
	}
	if warmup > 0 {
		s = Warmup{warmup, s}
	}
	return s, nil
}

func initial(p *params.Reader) float64 {
	if !p.Has("initial") {
		p.Refuse("initial", errors.New("expected a number"))
	}
	return bounded(p, "initial", 0)
}

func readDecay(p *params.Reader) Decay {
	return Decay{Initial: initial(p), Steps: positive(p, "decay_steps"), Rate: bounded(p, "decay_rate", 0), Staircase: p.Bool("staircase", false)}
}

func positive(p *params.Reader, name string) int64 {
	if !p.Has(name) {
		p.Refuse(name, errors.New("expected an integer >= 1"))
	}
	return int64(p.Int(name, 1, 1))
}

func readPiecewise(p *params.Reader) Schedule {
	s := PiecewiseConstant{Values: p.Floats("values")}
	for _, n := range p.Ints("boundaries", 0) {
		s.Boundaries = append(s.Boundaries, int64(n))
	}
	// A config section always has a default for initial; the values replace it.
	p.Float("initial", 0)
	if len(s.Values) != len(s.Boundaries)+1 || !slices.IsSorted(s.Boundaries) {
		p.Fail(fmt.Errorf("%d boundaries, %d values: expected increasing boundaries and one value more", len(s.Boundaries), len(s.Values)))
		s = PiecewiseConstant{Values: []float64{0}}
	}
	return s
}
