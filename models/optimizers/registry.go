package optimizers

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/runconfig/violation"
)

// registered makes a rule from its hyper-parameters.
type registered struct {
	rule        func(p *params.Reader) Rule
	rate        float64 // default learning rate
	weightDecay float64
}

// rules holds the rules. Defaults are TensorFlow's; if a V1 optimizer has no default
// learning rate, it is the Keras optimizer's. amsgrad, adamax, nadam, lion and adadelta are Keras' rules,
// lamb is TensorFlow Addons'.
var rules = registry.New("optimizer", map[string]registered{
	"sgd": {rate: 0.01, rule: func(*params.Reader) Rule { return rule.SGD{} }},
	"momentum": {rate: 0.01, rule: func(p *params.Reader) Rule {
		return rule.Momentum{Momentum: bounded(p, "momentum", 0.9), Nesterov: p.Bool("nesterov", false)}
	}},
	"adam":    {rate: 0.001, rule: func(p *params.Reader) Rule { return readAdam(p, 1e-8) }},
	"adamw":   {rate: 0.001, weightDecay: 0.01, rule: func(p *params.Reader) Rule { return rule.AdamW{Adam: readAdam(p, 1e-8)} }},
	"adagrad": {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.Adagrad{Initial: readInitial(p)} }},
	"rmsprop": {rate: 0.001, rule: func(p *params.Reader) Rule { return readRMSProp(p, 1e-10) }},
	"ftrl":    {rate: 0.001, rule: func(p *params.Reader) Rule { return readFtrl(p) }},
	"amsgrad": {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.AMSGrad(readAdam(p, 1e-7)) }},
	"adamax":  {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.Adamax(readAdam(p, 1e-7)) }},
	"nadam":   {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.Nadam(readAdam(p, 1e-7)) }},
	"lamb":    {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.LAMB(readAdam(p, 1e-6)) }},
	"lion": {rate: 0.0001, rule: func(p *params.Reader) Rule {
		return rule.Lion{Beta1: bounded(p, "beta1", 0.9), Beta2: bounded(p, "beta2", 0.99)}
	}},
	"adadelta": {rate: 0.001, rule: func(p *params.Reader) Rule {
		return rule.Adadelta{Rho: bounded(p, "rho", 0.95), Epsilon: bounded(p, "epsilon", 1e-7)}
	}},
	"keras_sgd": {rate: 0.01, rule: func(p *params.Reader) Rule {
		return rule.KerasSGD{Momentum: bounded(p, "momentum", 0), Nesterov: p.Bool("nesterov", false)}
	}},
	"keras_adam": {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.KerasAdam(readAdam(p, 1e-7)) }},
	"keras_adamw": {rate: 0.001, weightDecay: 0.004, rule: func(p *params.Reader) Rule {
		return rule.KerasAdamW{KerasAdam: rule.KerasAdam(readAdam(p, 1e-7))}
	}},
	"keras_adagrad": {rate: 0.001, rule: func(p *params.Reader) Rule {
		return rule.KerasAdagrad{Initial: readInitial(p), Epsilon: p.Float("epsilon", 1e-7)}
	}},
	"keras_rmsprop": {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.KerasRMSProp(readRMSProp(p, 1e-7)) }},
	"keras_ftrl":    {rate: 0.001, rule: func(p *params.Reader) Rule { return rule.KerasFtrl{Ftrl: readFtrl(p)} }},
})

// Names returns the names of the rules, sorted.
func Names() []string { return rules.Names() }

// New returns an optimizer with the named rule. Parameters are the keys of the optimizer section of a config
// file: learning_rate (a number, or a map, see NewSchedule), the rule's hyper-parameters, weight_decay,
// no_decay, at most one of clip_norm, clip_value and global_clip_norm (0: none), accumulate_steps, slot_names,
// loss_scale (none, dynamic or a number), skip_nonfinite and averaging (see NewAveraging). All are optional.
// Unknown names and parameters are errors that list the known ones.
func New(name string, parameters map[string]any) (*Optimizer, error) {
	r, err := rules.Lookup(name)
	if err != nil {
		return nil, err
	}
	return r.optimizer(name, parameters)
}

// optimizer reads the parameters of the rule and of every optimizer.
func (r registered) optimizer(name string, parameters map[string]any) (*Optimizer, error) {
	p := params.Read("optimizer "+name, parameters)
	o := &Optimizer{Rule: r.rule(p), LearningRate: Constant(r.rate), WeightDecay: p.Float("weight_decay", r.weightDecay),
		NoDecay: p.String("no_decay", ""), AccumulateSteps: p.Int("accumulate_steps", 1, 1), SkipNonFinite: int64(p.Int("skip_nonfinite", 0, 0)),
		SlotNames: SlotNames(p.String("slot_names", string(V1Names)))}
	if rate := p.Any("learning_rate"); rate != nil {
		s, err := NewSchedule(rate)
		if err != nil {
			p.Fail(err)
		}
		o.LearningRate = s
	}
	o.Transforms = transforms(p.Float(string(ClipNorm), 0), p.Float(string(ClipValue), 0), p.Float(string(ClipGlobalNorm), 0))
	if l := p.Any("loss_scale"); l != nil {
		var err error
		if o.LossScale, err = NewLossScale(l); err != nil {
			p.Refuse("loss_scale", err)
		}
	}
	if a := p.Any("averaging"); a != nil {
		var err error
		if o.Averaging, err = NewAveraging(a); err != nil {
			p.Refuse("averaging", err)
		}
	}
	o.refuse(p)
	if err := p.Done(); err != nil {
		return nil, err
	}
	return o, nil
}

// refuse reports to p invalid parameters that all rules have.
func (o *Optimizer) refuse(p *params.Reader) {
	vs := &violation.List{}
	o.validate(vs)
	for _, v := range vs.Found {
		p.Refuse(v.Field, fmt.Errorf("got %s, %s", violation.Quote(v.Value), v.Bound))
	}
	if _, err := regexp.Compile(o.NoDecay); err != nil {
		p.Refuse("no_decay", err)
	}
}

// transforms are the clips with a limit other than 0.
func transforms(norm, value, global float64) []Transform {
	clips := []Transform{{ClipNorm, norm}, {ClipValue, value}, {ClipGlobalNorm, global}}
	return slices.DeleteFunc(clips, func(t Transform) bool { return t.Limit == 0 })
}

func readAdam(p *params.Reader, epsilon float64) rule.Adam {
	return rule.Adam{Beta1: bounded(p, "beta1", 0.9), Beta2: bounded(p, "beta2", 0.999), Epsilon: bounded(p, "epsilon", epsilon)}
}

func readInitial(p *params.Reader) float64 { return bounded(p, "initial_accumulator_value", 0.1) }

func readRMSProp(p *params.Reader, epsilon float64) rule.RMSProp {
	return rule.RMSProp{Rho: bounded(p, "rho", 0.9), Momentum: bounded(p, "momentum", 0),
		Epsilon: bounded(p, "epsilon", epsilon), Centered: p.Bool("centered", false)}
}

// ftrlNames are other names of ftrl's parameters: the config file's, and TensorFlow's.
var ftrlNames = map[string]string{"lr_power": "learning_rate_power", "l1_regularization_strength": "l1",
	"l2_regularization_strength": "l2", "l2_shrinkage_regularization_strength": "l2_shrinkage"}

func readFtrl(p *params.Reader) rule.Ftrl {
	for other, name := range ftrlNames {
		p.Also(name, other)
	}
	return rule.Ftrl{Power: bounded(p, "learning_rate_power", -0.5), Initial: readInitial(p), L1: bounded(p, "l1", 0),
		L2: bounded(p, "l2", 0), Shrinkage: bounded(p, "l2_shrinkage", 0), Beta: bounded(p, "beta", 0)}
}
