package optimizers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/params"
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

// keysOf returns the hyper-parameters that a rule has, besides those that all have.
func keysOf(r registered) []string {
	p := params.Read("", nil)
	r.rule(p)
	return p.Known()
}

// hyper is one hyper-parameter that is set, with its bounds.
type hyper struct {
	name  string
	value *float64
	low   float64
	high  float64
	open  bool // high itself is not allowed
}

// hypers lists the hyper-parameters that are set.
func (s Spec) hypers() []hyper {
	inf := math.Inf(1)
	all := []hyper{
		{"momentum", s.Momentum, 0, 1, false},
		{"beta1", s.Beta1, 0, 1, true},
		{"beta2", s.Beta2, 0, 1, true},
		{"rho", s.Rho, 0, 1, false},
		{"epsilon", s.Epsilon, 0, inf, false},
		{"initial_accumulator_value", s.InitialAccumulatorValue, 0, inf, false},
		{"lr_power", s.LearningRatePower, -inf, 0, false},
		{"l1", s.L1, 0, inf, false},
		{"l2", s.L2, 0, inf, false},
		{"l2_shrinkage", s.L2Shrinkage, 0, inf, false},
		{"beta", s.Beta, 0, inf, false},
	}
	return slices.DeleteFunc(all, func(h hyper) bool { return h.value == nil })
}

func (h hyper) validate(vs *violation.List) {
	x := *h.value
	ok := x >= h.low && x <= h.high && !(h.open && x == h.high)
	bound := fmt.Sprintf("expected >= %g and <= %g", h.low, h.high)
	switch {
	case math.IsInf(h.high, 1):
		bound = fmt.Sprintf("expected >= %g", h.low)
	case math.IsInf(h.low, -1):
		bound = fmt.Sprintf("expected <= %g", h.high)
	case h.open:
		bound = fmt.Sprintf("expected >= %g and < %g", h.low, h.high)
	}
	vs.Require(ok, h.name, x, bound)
}

// Validate reports everything that is out of bounds, and hyper-parameters that the
// rule does not have, by the keys of the config file.
func (s Spec) Validate() error {
	vs := &violation.List{}
	vs.OneOf("name", s.Name, ruleNames()...)
	if r, err := rules.Lookup(s.Name); err == nil {
		s.validateRule(keysOf(r), vs)
	} else {
		for _, h := range s.hypers() {
			h.validate(vs)
		}
	}
	if s.WeightDecay != nil {
		vs.Require(*s.WeightDecay >= 0, "weight_decay", *s.WeightDecay, "expected >= 0")
	}
	s.validateClips(vs)
	vs.Require(s.AccumulateSteps >= 1, "accumulate_steps", s.AccumulateSteps, "expected >= 1")
	_, err := NewLossScale(s.LossScale)
	vs.Require(err == nil, "loss_scale", s.LossScale, "expected none, dynamic or a number from 1.18e-38 to 3.4e+38")
	vs.OneOf("slot_names", s.SlotNames, string(V1Names), string(KerasNames))
	vs.Include("learning_rate", s.LearningRate.Validate())
	vs.Regexp("weight_decay_exclude", s.WeightDecayExclude)
	return vs.Err()
}

// validateRule checks what is set against the hyper-parameters that the rule has.
func (s Spec) validateRule(has []string, vs *violation.List) {
	none := "which the rule " + s.Name + " does not have"
	for _, h := range s.hypers() {
		if slices.Contains(has, h.name) {
			h.validate(vs)
		} else {
			vs.Add(h.name, *h.value, none)
		}
	}
	vs.Require(!s.Nesterov || slices.Contains(has, "nesterov"), "nesterov", s.Nesterov, none)
	vs.Require(!s.Centered || slices.Contains(has, "centered"), "centered", s.Centered, none)
}

func (s Spec) validateClips(vs *violation.List) {
	set := 0
	for _, clip := range []struct {
		name  string
		value float64
	}{{"clip_norm", s.ClipNorm}, {"clip_value", s.ClipValue}, {"global_clip_norm", s.GlobalClipNorm}} {
		vs.Require(clip.value >= 0, clip.name, clip.value, "expected > 0, or 0 for no limit")
		if clip.value > 0 {
			set++
		}
		vs.Require(set < 2 || clip.value <= 0, clip.name, clip.value, "expected at most one of clip_norm, clip_value, global_clip_norm")
	}
}

// scheduleNames are the schedules in the order of the documents.
var scheduleNames = []string{"constant", "exponential", "inverse_time", "natural_exp", "polynomial", "piecewise_constant", "cosine", "cosine_restarts", "noam"}

// Validate reports everything that is out of bounds for the schedule.
func (l LearningRateSpec) Validate() error {
	vs := &violation.List{}
	vs.OneOf("schedule", l.Schedule, scheduleNames...)
	vs.Require(l.WarmupSteps >= 0, "warmup_steps", l.WarmupSteps, "expected >= 0")
	switch l.Schedule {
	case "constant":
	case "piecewise_constant":
		vs.Require(len(l.Values) == len(l.Boundaries)+1, "values", l.Values, "expected one value more than there are boundaries")
		vs.Require(slices.IsSorted(l.Boundaries), "boundaries", l.Boundaries, "expected increasing steps")
		return vs.Err()
	default:
		vs.Require(l.DecaySteps > 0, "decay_steps", l.DecaySteps, "expected > 0 for schedule "+l.Schedule)
	}
	if slices.Contains([]string{"exponential", "inverse_time", "natural_exp"}, l.Schedule) {
		vs.Require(l.DecayRate > 0, "decay_rate", l.DecayRate, "expected > 0 for schedule "+l.Schedule)
	}
	vs.Require(l.ModelSize > 0 || l.Schedule != "noam", "model_size", l.ModelSize, "expected > 0 for schedule "+l.Schedule)
	vs.Require(l.Initial >= 0, "initial", l.Initial, "expected >= 0")
	return vs.Err()
}
