package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/violation"
)

// rules maps each update rule to the hyper-parameters that it has, besides
// weight_decay, which all have.
var rules = map[string][]string{
	"sgd":           nil,
	"momentum":      {"momentum", "nesterov"},
	"adam":          {"beta1", "beta2", "epsilon"},
	"adamw":         {"beta1", "beta2", "epsilon"},
	"adagrad":       {"initial_accumulator_value"},
	"rmsprop":       {"rho", "momentum", "centered", "epsilon"},
	"ftrl":          {"initial_accumulator_value", "lr_power", "l1", "l2", "l2_shrinkage", "beta"},
	"keras_sgd":     {"momentum", "nesterov"},
	"keras_adam":    {"beta1", "beta2", "epsilon"},
	"keras_adamw":   {"beta1", "beta2", "epsilon"},
	"keras_adagrad": {"initial_accumulator_value", "epsilon"},
	"keras_rmsprop": {"rho", "momentum", "centered", "epsilon"},
	"keras_ftrl":    {"initial_accumulator_value", "lr_power", "l1", "l2", "l2_shrinkage", "beta"},
}

func ruleNames() []string {
	names := make([]string, 0, len(rules))
	for name := range rules {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if ka, kb := strings.HasPrefix(a, "keras_"), strings.HasPrefix(b, "keras_"); ka != kb {
			if ka {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return names
}

// given lists the hyper-parameters that are set, each with its value and bounds.
func (o Optimizer) given() []hyper {
	all := []hyper{
		{"momentum", o.Momentum, 0, 1, false},
		{"beta1", o.Beta1, 0, 1, true},
		{"beta2", o.Beta2, 0, 1, true},
		{"rho", o.Rho, 0, 1, false},
		{"epsilon", o.Epsilon, 0, inf, false},
		{"initial_accumulator_value", o.InitialAccumulatorValue, 0, inf, false},
		{"lr_power", o.LearningRatePower, -inf, 0, false},
		{"l1", o.L1, 0, inf, false},
		{"l2", o.L2, 0, inf, false},
		{"l2_shrinkage", o.L2Shrinkage, 0, inf, false},
		{"beta", o.Beta, 0, inf, false},
	}
	return slices.DeleteFunc(all, func(h hyper) bool { return h.value == nil })
}

func (o Optimizer) validate(vs *violation.List) {
	vs.OneOf("optimizer.name", o.Name, ruleNames()...)
	has, known := rules[o.Name]
	for _, h := range o.given() {
		if known && !slices.Contains(has, h.name) {
			vs.Add("optimizer."+h.name, *h.value, "which the rule "+o.Name+" does not have")
			continue
		}
		h.validate(vs)
	}
	if known {
		vs.Require(!o.Nesterov || slices.Contains(has, "nesterov"), "optimizer.nesterov", o.Nesterov, "which the rule "+o.Name+" does not have")
		vs.Require(!o.Centered || slices.Contains(has, "centered"), "optimizer.centered", o.Centered, "which the rule "+o.Name+" does not have")
	}
	if o.WeightDecay != nil {
		vs.Require(*o.WeightDecay >= 0, "optimizer.weight_decay", *o.WeightDecay, "expected >= 0")
	}
	o.validateClips(vs)
	vs.Require(o.AccumulateSteps >= 1, "optimizer.accumulate_steps", o.AccumulateSteps, "expected >= 1")
	vs.Require(goodLossScale(o.LossScale), "optimizer.loss_scale", o.LossScale, "expected none, dynamic or a number from 1.18e-38 to 3.4e+38")
	vs.OneOf("optimizer.slot_names", o.SlotNames, "v1", "keras")
	o.LearningRate.validate(vs)
}

func goodLossScale(s string) bool {
	if s == "none" || s == "dynamic" {
		return true
	}
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && v >= 0x1p-126 && v <= math.MaxFloat32 // so that the inverse, too, is a finite float32
}

func (o Optimizer) validateClips(vs *violation.List) {
	set := 0
	for _, clip := range []struct {
		name  string
		value float64
	}{{"clip_norm", o.ClipNorm}, {"clip_value", o.ClipValue}, {"global_clip_norm", o.GlobalClipNorm}} {
		vs.Require(clip.value >= 0, "optimizer."+clip.name, clip.value, "expected > 0, or 0 for no limit")
		if clip.value > 0 {
			set++
		}
		vs.Require(set < 2 || clip.value <= 0, "optimizer."+clip.name, clip.value, "expected at most one of clip_norm, clip_value, global_clip_norm")
	}
}

func (l LearningRate) validate(vs *violation.List) {
	const key = "optimizer.learning_rate."
	vs.OneOf(key+"schedule", l.Schedule, "constant", "exponential", "inverse_time", "natural_exp", "polynomial", "piecewise_constant", "cosine", "cosine_restarts")
	vs.Require(l.WarmupSteps >= 0, key+"warmup_steps", l.WarmupSteps, "expected >= 0")
	switch l.Schedule {
	case "constant":
	case "piecewise_constant":
		vs.Require(len(l.Values) == len(l.Boundaries)+1, key+"values", l.Values, "expected one value more than there are boundaries")
		vs.Require(slices.IsSorted(l.Boundaries), key+"boundaries", l.Boundaries, "expected increasing steps")
		return
	default:
		vs.Require(l.DecaySteps > 0, key+"decay_steps", l.DecaySteps, "expected > 0 for schedule "+l.Schedule)
	}
	if slices.Contains([]string{"exponential", "inverse_time", "natural_exp"}, l.Schedule) {
		vs.Require(l.DecayRate > 0, key+"decay_rate", l.DecayRate, "expected > 0 for schedule "+l.Schedule)
	}
	vs.Require(l.Initial >= 0, key+"initial", l.Initial, "expected >= 0")
}
