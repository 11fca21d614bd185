package optimizers

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/runconfig/violation"
)

// ruleNames lists TensorFlow 1's rules, then Keras'.
func ruleNames() []string {
	var v1, keras []string
	for _, name := range Names() {
		if strings.HasPrefix(name, "keras_") {
			keras = append(keras, name)
		} else {
			v1 = append(v1, name)
		}
	}
	return append(v1, keras...)
}

// known returns the parameters that read asks for.
func known(read func(p *params.Reader)) []string {
	p := params.Read("", nil)
	read(p)
	return p.Known()
}

// hyper is one hyper-parameter that is set.
type hyper struct {
	name  string
	value *float64
}

// hypers lists the hyper-parameters that are set.
func (s Spec) hypers() []hyper {
	all := []hyper{
		{"momentum", s.Momentum},
		{"beta1", s.Beta1},
		{"beta2", s.Beta2},
		{"rho", s.Rho},
		{"epsilon", s.Epsilon},
		{"initial_accumulator_value", s.InitialAccumulatorValue},
		{"lr_power", s.LearningRatePower},
		{"l1", s.L1},
		{"l2", s.L2},
		{"l2_shrinkage", s.L2Shrinkage},
		{"beta", s.Beta},
	}
	return slices.DeleteFunc(all, func(h hyper) bool { return h.value == nil })
}

// require adds a violation if a parameter is out of range.
func require(vs *violation.List, name string, x float64) {
	vs.Require(bounds[name].holds(x), name, x, bounds[name].String())
}

// Validate reports everything that is out of bounds, and hyper-parameters that the
// rule does not have, by the keys of the config file.
func (s Spec) Validate() error {
	vs := &violation.List{}
	vs.OneOf("name", s.Name, ruleNames()...)
	if r, err := rules.Lookup(s.Name); err == nil {
		s.validateRule(known(func(p *params.Reader) { r.rule(p) }), vs)
	} else {
		for _, h := range s.hypers() {
			require(vs, h.name, *h.value)
		}
	}
	o := Optimizer{SlotNames: SlotNames(s.SlotNames), Transforms: transforms(s.ClipNorm, s.ClipValue, s.GlobalClipNorm)}
	if s.WeightDecay != nil {
		o.WeightDecay = *s.WeightDecay
	}
	o.validate(vs)
	vs.Require(s.AccumulateSteps >= 1, "accumulate_steps", s.AccumulateSteps, "expected >= 1")
	_, err := NewLossScale(s.LossScale)
	vs.Require(err == nil, "loss_scale", s.LossScale, "expected none, dynamic or a number from 1.18e-38 to 3.4e+38")
	vs.Require(s.SkipNonFinite >= 0, "skip_nonfinite", s.SkipNonFinite, "expected updates in a row, or 0 to leave none out")
	vs.Include("averaging", s.Averaging.Validate())
	vs.Include("learning_rate", s.LearningRate.Validate())
	vs.Regexp("weight_decay_exclude", s.WeightDecayExclude)
	return vs.Err()
}

// Validate reports everything that is out of bounds.
func (a AveragingSpec) Validate() error {
	vs := &violation.List{}
	vs.OneOf("kind", a.Kind, noAveraging, string(EMA), string(SWA))
	ema := a.Kind == string(EMA)
	if a.Decay != nil {
		vs.Require(ema, "decay", *a.Decay, "which only ema has")
		require(vs, "decay", *a.Decay)
	}
	vs.Require(ema || !a.Rising, "rising", a.Rising, "which only ema has")
	vs.Require(a.Start >= 0 && a.Start <= rule.MostUpdates, "start", a.Start, "expected >= 0")
	vs.Require(a.Every >= 0 && a.Every <= rule.MostUpdates, "every", a.Every, "expected >= 0")
	return vs.Err()
}

// validateRule checks what is set against the hyper-parameters that the rule has.
func (s Spec) validateRule(has []string, vs *violation.List) {
	none := "which the rule " + s.Name + " does not have"
	for _, h := range s.hypers() {
		if slices.Contains(has, h.name) {
			require(vs, h.name, *h.value)
		} else {
			vs.Add(h.name, *h.value, none)
		}
	}
	vs.Require(!s.Nesterov || slices.Contains(has, "nesterov"), "nesterov", s.Nesterov, none)
	vs.Require(!s.Centered || slices.Contains(has, "centered"), "centered", s.Centered, none)
}

// validate checks what all rules have in common.
func (o *Optimizer) validate(vs *violation.List) {
	require(vs, "weight_decay", o.WeightDecay)
	for i, t := range o.Transforms {
		vs.Require(t.Limit > 0, string(t.Kind), t.Limit, "expected > 0, or 0 for no limit")
		vs.Require(i == 0, string(t.Kind), t.Limit, "expected at most one of clip_norm, clip_value, global_clip_norm")
	}
	vs.OneOf("slot_names", string(o.SlotNames), string(V1Names), string(KerasNames))
}

// scheduleNames are the schedules in the order of the documentation.
var scheduleNames = []string{"constant", "exponential", "inverse_time", "natural_exp", "polynomial", "piecewise_constant", "cosine", "cosine_restarts", "noam", "one_cycle", "plateau", "sequence", "product"}

// Validate reports everything that is out of bounds for the schedule.
func (l LearningRateSpec) Validate() error {
	vs := &violation.List{}
	vs.OneOf("schedule", l.Schedule, scheduleNames...)
	vs.Require(l.WarmupSteps >= 0, "warmup_steps", l.WarmupSteps, "expected >= 0")
	if l.Schedule == "piecewise_constant" {
		vs.Require(len(l.Values) == len(l.Boundaries)+1, "values", l.Values, "expected one value more than there are boundaries")
		vs.Require(slices.IsSorted(l.Boundaries), "boundaries", l.Boundaries, "expected increasing steps")
		return vs.Err()
	}
	if composed := l.Schedule == "sequence" || l.Schedule == "product"; composed || len(l.Parts) > 0 {
		vs.Require(composed, "parts", l.Parts, "expected none for schedule "+l.Schedule)
		if _, err := NewSchedule(l.parameters()); composed && err != nil {
			vs.Add("parts", l.Parts, err.Error())
		}
		return vs.Err()
	}
	if read, err := schedules.Lookup(l.Schedule); err == nil {
		l.validateSchedule(known(func(p *params.Reader) { read(p) }), vs)
	}
	if l.Schedule == "one_cycle" {
		l.validateCycle(vs)
	}
	l.validatePlateau(vs)
	require(vs, "initial", l.Initial)
	return vs.Err()
}

// validatePlateau checks the parameters of plateau that are set, and that no other schedule has them.
func (l LearningRateSpec) validatePlateau(vs *violation.List) {
	plateau := l.Schedule == "plateau"
	for _, h := range []hyper{{"factor", &l.Factor}, {"min_delta", &l.MinDelta}, {"min_lr", &l.MinLR}} {
		if *h.value != 0 && plateau {
			require(vs, h.name, *h.value)
		}
		vs.Require(plateau || *h.value == 0, h.name, *h.value, "which only schedule plateau has")
	}
	vs.Require(plateau || l.Metric == "", "metric", l.Metric, "which only schedule plateau has")
	vs.Require(plateau || !l.HigherIsBetter, "higher_is_better", l.HigherIsBetter, "which only schedule plateau has")
	vs.Require(l.Patience >= 0 && (plateau || l.Patience == 0), "patience", l.Patience, "expected >= 0, and only for schedule plateau")
	vs.Require(l.Cooldown >= 0 && (plateau || l.Cooldown == 0), "cooldown", l.Cooldown, "expected >= 0, and only for schedule plateau")
}

// validateCycle checks the parameters of one_cycle that are set.
func (l LearningRateSpec) validateCycle(vs *violation.List) {
	for _, h := range []hyper{{"pct_start", &l.PctStart}, {"div_factor", &l.DivFactor}, {"final_div_factor", &l.FinalDivFactor}} {
		if *h.value != 0 {
			require(vs, h.name, *h.value)
		}
	}
}

// validateSchedule checks the schedule's parameters other than its initial rate.
func (l LearningRateSpec) validateSchedule(has []string, vs *violation.List) {
	for _, p := range []struct {
		name  string
		value float64
	}{{"decay_steps", float64(l.DecaySteps)}, {"decay_rate", l.DecayRate}, {"model_size", float64(l.ModelSize)}} {
		b := bounds[p.name]
		vs.Require(!slices.Contains(has, p.name) || b.holds(p.value), p.name, p.value, b.String()+" for schedule "+l.Schedule)
	}
}
