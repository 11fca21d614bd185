package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/runconfig/violation"
)

// complete fills in what depends on other values.
func (c *Config) complete() {
	c.Optimizer.LearningRate.Complete()
	for _, in := range []*inputs.Spec{&c.Train.Input, &c.Eval.Input, &c.Predict.Input} {
		in.Complete()
	}
	for i := range c.Eval.Exporters {
		e := &c.Eval.Exporters[i]
		if e.ExportsToKeep == 0 {
			e.ExportsToKeep = 5
		}
		if e.Kind == "best" && e.Metric == "" {
			e.Metric = "loss"
		}
	}
}

// validate reports every value out of bounds.
func (c *Config) validate(vs *violation.List) {
	c.validateRun(vs)
	vs.Include("optimizer", c.Optimizer.Validate())
	c.Train.validate(vs)
	c.Eval.validate(vs)
	c.validateEvaluated(vs)
	vs.Include("train.input", c.Train.Input.Validate())
	vs.Include("eval.input", c.Eval.Input.Validate())
	vs.Include("predict.input", c.predicted().Validate())
	c.Predict.validate(vs)
	c.Export.validate(vs)
	vs.Include("feature_columns", feature.ValidateSpecs(c.FeatureColumns))
	c.Model.validate(vs)
}

// predicted is predict.input with a file where one is named elsewhere.
func (c *Config) predicted() inputs.Spec {
	if c.predictFile == "" {
		return c.Predict.Input
	}
	return c.Predict.Input.Reading("file")
}

func (m Model) validate(vs *violation.List) {
	vs.Regexp("model.warm_start.vars", m.WarmStart.Vars)
	for i, r := range m.WarmStart.Map {
		var wrong *weights.RuleError
		if errors.As(r.Check(), &wrong) {
			vs.Add("model.warm_start.map["+strconv.Itoa(i)+"]."+wrong.Key, wrong.Value, wrong.Expected)
		}
	}
	for i, p := range m.Freeze {
		key := "model.freeze[" + strconv.Itoa(i) + "]"
		vs.Regexp(key, p)
		vs.Require(p != "", key, p, "expected a regular expression that names variables")
	}
}

// validateRun takes the rules of RunConfig; its fields live below run here.
func (c *Config) validateRun(vs *violation.List) {
	_, err := c.RunConfig()
	var found *runconfig.ViolationsError
	if errors.As(err, &found) {
		for _, v := range found.Violations {
			switch {
			case strings.HasPrefix(v.Field, "train_distribute."):
				v.Field = "strategy." + strings.TrimPrefix(v.Field, "train_distribute.")
			case strings.HasPrefix(v.Field, "rpc."):
			case v.Field != "model_dir" && !strings.HasPrefix(v.Field, "TF_CONFIG"):
				v.Field = "run." + v.Field
			}
			vs.Found = append(vs.Found, v)
		}
	}
}

func (t Train) validate(vs *violation.List) {
	vs.Require(t.MaxSteps >= 0, "train.max_steps", t.MaxSteps, "expected > 0, or 0 for no limit")
	vs.Require(t.Epochs >= 0, "train.epochs", t.Epochs, "expected > 0, or 0 for as the input says")
	once := t.Input
	once.Repeat = false
	endless := !once.Ends()
	vs.Require(t.Epochs <= 0 || !endless, "train.epochs", t.Epochs, "expected train.max_steps instead, or train.input.count, as train.input never ends")
	vs.Require(t.MaxSecs >= 0, "train.max_secs", t.MaxSecs, "expected > 0, or 0 for no limit")
	e, key := t.EarlyStopping, "train.early_stopping."
	vs.Require(e.MaxStepsWithoutImprovement >= 0, key+"max_steps_without_improvement", e.MaxStepsWithoutImprovement, "expected >= 0")
	vs.Require(e.MinSteps >= 0, key+"min_steps", e.MinSteps, "expected >= 0")
	vs.Require(e.CheckEverySecs >= 0, key+"check_every_secs", e.CheckEverySecs, "expected >= 0")
	vs.Require(e.CheckEverySteps >= 0, key+"check_every_steps", e.CheckEverySteps, "expected >= 0")
	hasRule := e.stops() || e.RestoreBest
	vs.Require(e.Metric == "" || hasRule, key+"metric", e.Metric, "expected max_steps_without_improvement, threshold or restore_best beside it")
	vs.Require(e.Metric != "" || !hasRule, key+"metric", e.Metric, "expected the name of a metric beside the rule")
}

func (e Eval) validate(vs *violation.List) {
	vs.Require(e.Steps >= 0, "eval.steps", e.Steps, "expected > 0, or 0 for to the end of the input")
	vs.Require(e.StartDelaySecs >= 0, "eval.start_delay_secs", e.StartDelaySecs, "expected >= 0")
	vs.Require(e.ThrottleSecs >= 0, "eval.throttle_secs", e.ThrottleSecs, "expected >= 0")
	vs.Require(e.EverySteps >= 0, "eval.every_steps", e.EverySteps, "expected >= 0")
	vs.Require(!strings.ContainsAny(e.Name, `/\`), "eval.name", e.Name, "expected a name without slashes")
	vs.Require(e.Input.Format == "" || e.Input.Ends() || e.Steps > 0, "eval.steps", e.Steps, "expected > 0, as eval.input never ends")
	var names []string
	for i, x := range e.Exporters {
		field := "eval.exporters[" + strconv.Itoa(i) + "]"
		vs.Require(x.Name != "" && !strings.ContainsAny(x.Name, `/\`), field+".name", x.Name, "expected a name without slashes")
		vs.Require(!slices.Contains(names, x.Name), field+".name", x.Name, "expected a name that no other exporter has")
		names = append(names, x.Name)
		vs.OneOf(field+".kind", x.Kind, "final", "latest", "best", "steps")
		vs.Require(x.ExportsToKeep >= -1, field+".exports_to_keep", x.ExportsToKeep, "expected > 0, 0 for the default, or -1 for all")
		vs.Require(x.Kind != "steps" || len(x.Steps) > 0, field+".steps", x.Steps, "expected at least one step")
	}
}

// validateEvaluated requires evaluations where something uses them.
func (c *Config) validateEvaluated(vs *violation.List) {
	const bound = "expected eval.input, too: it uses the metrics of evaluations, and there is no eval section"
	if c.Eval.Input.Format != "" {
		return
	}
	metric := c.Train.EarlyStopping.Metric
	vs.Require(metric == "" || vs.Below("train.early_stopping"), "train.early_stopping.metric", metric, bound)
	var names []string
	for _, x := range c.Eval.Exporters {
		names = append(names, x.Name)
	}
	vs.Require(len(names) == 0 || vs.Below("eval.exporters"), "eval.exporters", names, bound)
}

func (p Predict) validate(vs *violation.List) {
	vs.OneOf("predict.on_error", p.OnError, "", "fail", "skip")
}

func (e Export) validate(vs *violation.List) {
	vs.OneOf("export.serving_input", e.ServingInput, "auto", "raw", "parsing")
	vs.Require(e.MaxSequenceLength >= 0 && e.MaxSequenceLength <= 1<<16, "export.max_sequence_length", e.MaxSequenceLength, "expected > 0, or 0 where the model has no sequences")
	vs.Require(e.WarmUpRequests >= 0 && e.WarmUpRequests <= 1000, "export.warm_up_requests", e.WarmUpRequests, "expected 0 to 1000")
}

// stops reports whether there is a rule by which evaluations end training.
func (e EarlyStopping) stops() bool { return e.MaxStepsWithoutImprovement > 0 || e.Threshold != nil }

// Endless reports whether nothing but a signal ends this training.
func (t Train) Endless() bool {
	limited := t.MaxSteps > 0 || t.MaxSecs > 0 || t.Epochs > 0 || t.EarlyStopping.stops()
	return !limited && t.Input.Format != "" && !t.Input.Ends()
}
