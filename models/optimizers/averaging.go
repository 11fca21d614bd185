package optimizers

import (
	"cmp"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/training/rule"
)

// Averaging keeps an average of each trained variable, with which an Estimator evaluates, predicts and exports. In
// checkpoints its name is the variable's with /ExponentialMovingAverage or /StochasticWeightAverage appended. Updates
// are counted from 0; accumulated batches make one update. The zero value keeps no averages.
type Averaging struct {
	Kind AveragingKind
	// Decay is the weight of the old average of an EMA, in [0, 1).
	Decay float64
	// Rising makes the n-th decay of an EMA at most (1+n)/(10+n), as num_updates of
	// tf.train.ExponentialMovingAverage does.
	Rising bool
	// Start is the first update whose result counts. Before it the average is the variable's value.
	Start int64
	// Every says that the result of every Every-th update counts; 0 is 1.
	Every int64
}

// AveragingKind names a kind of average.
type AveragingKind string

// The kinds of averages.
const (
	// EMA is decay*average + (1-decay)*variable (use_ema of Keras' optimizers).
	EMA AveragingKind = rule.EMA
	// SWA is the mean of the results that count (Izmailov et al. 2018; tfa.optimizers.SWA).
	SWA AveragingKind = rule.SWA
)

// noAveraging is the value in a config file for no averages.
const noAveraging = "none"

// EMADecay is the default decay of an EMA, as in Keras.
const EMADecay = 0.99

// None reports whether no averages are kept.
func (a Averaging) None() bool { return a.Kind == "" }

// Check reports settings that are out of range.
func (a Averaging) Check() error {
	switch {
	case a == Averaging{}:
		return nil
	case a.Kind == SWA && (a.Decay != 0 || a.Rising):
		return fmt.Errorf("averaging %s with decay %g: expected none, its weights are all the same", SWA, a.Decay)
	}
	return a.data().Check()
}

// data returns the form that is sent with a rule.
func (a Averaging) data() rule.Averaging {
	return rule.Averaging{Kind: string(a.Kind), Decay: a.Decay, Rising: a.Rising, Start: a.Start, Every: cmp.Or(a.Every, 1)}
}

// of returns a rule that also keeps averages.
func (a Averaging) of(r Rule) Rule {
	own, ok := r.(rule.Rule)
	if !ok || a.None() {
		return r
	}
	return rule.Averaged{Rule: own, Averaging: a.data()}
}

// NewAveraging returns averaging from a value in a config file: none, ema, swa, or a map of kind, decay, rising, start and every.
func NewAveraging(spec any) (Averaging, error) {
	m, ok := spec.(map[string]any)
	if !ok {
		m = map[string]any{"kind": spec}
	}
	p := params.Read("averaging", m)
	a := Averaging{Kind: AveragingKind(p.String("kind", noAveraging))}
	start, every := p.Int("start", 0, 0), p.Int("every", 1, 1)
	decay, rising := bounded(p, "decay", EMADecay), p.Bool("rising", false)
	switch a.Kind {
	case noAveraging:
		a.Kind = ""
	case SWA:
		a.Start, a.Every = int64(start), int64(every)
		if p.Has("decay") || rising {
			p.Refuse("decay", fmt.Errorf("%s has none, nor rising: its weights are all the same", SWA))
		}
	default:
		a.Start, a.Every, a.Decay, a.Rising = int64(start), int64(every), decay, rising
	}
	if err := p.Done(); err != nil {
		return Averaging{}, err
	}
	return a, a.Check()
}

// WithEMA keeps exponential moving averages of the variables.
func WithEMA(decay float64) Option { return WithAveraging(Averaging{Kind: EMA, Decay: decay}) }

// WithSWA keeps the means of the variables after update start and after each period of updates that follows.
func WithSWA(start, period int64) Option {
	return WithAveraging(Averaging{Kind: SWA, Start: start, Every: period})
}

// WithAveraging keeps averages of the variables.
func WithAveraging(a Averaging) Option { return then(func(o *Optimizer) { o.Averaging = a }) }
