package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/platform/violation"
	"github.com/goestimator/goestimator/runconfig"
)

// maxBatch bounds batches, so that a slip of the pen does not take all memory.
const maxBatch = 1 << 24

// complete fills in what depends on other values.
func (c *Config) complete() {
	c.Optimizer.LearningRate = c.Optimizer.LearningRate.normalize()
	for _, in := range []*Input{&c.Train.Input, &c.Eval.Input, &c.Predict.Input} {
		for i := range in.Columns {
			in.Columns[i].complete()
		}
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

func (c *Column) complete() {
	if c.Kind == "" {
		c.Kind = "numeric"
		if len(c.Vocabulary) > 0 || c.DType == "string" {
			c.Kind = "categorical"
		}
	}
	if c.Role == "" {
		c.Role = "feature"
	}
}

// validate reports every value out of bounds.
func (c *Config) validate(vs *violation.List) {
	c.validateRun(vs)
	c.Optimizer.validate(vs)
	c.Train.validate(vs)
	c.Eval.validate(vs)
	c.validateEvaluated(vs)
	c.Train.Input.validate("train.input", vs)
	c.Eval.Input.validate("eval.input", vs)
	c.Predict.Input.validate("predict.input", vs)
	c.Export.validate(vs)
	validateColumns(c.FeatureColumns, vs)
	vs.Regexp("model.warm_start.vars", c.Model.WarmStart.Vars)
	vs.Regexp("optimizer.weight_decay_exclude", c.Optimizer.WeightDecayExclude)
}

// validateRun takes the rules of RunConfig; its fields live below run here.
func (c *Config) validateRun(vs *violation.List) {
	_, err := c.RunConfig()
	var found *runconfig.ViolationsError
	if errors.As(err, &found) {
		for _, v := range found.Violations {
			switch {
			case strings.HasPrefix(v.Field, "eval_distribute."):
				continue // the same value as train_distribute
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
	endless := t.Input.Format == "glyphs" && t.Input.Count == 0 && t.Input.Take == 0
	vs.Require(t.Epochs <= 0 || !endless, "train.epochs", t.Epochs, "expected train.max_steps instead, or train.input.count, as train.input never ends")
	vs.Require(t.MaxSecs >= 0, "train.max_secs", t.MaxSecs, "expected > 0, or 0 for no limit")
	e, key := t.EarlyStopping, "train.early_stopping."
	vs.Require(e.MaxStepsWithoutImprovement >= 0, key+"max_steps_without_improvement", e.MaxStepsWithoutImprovement, "expected >= 0")
	vs.Require(e.MinSteps >= 0, key+"min_steps", e.MinSteps, "expected >= 0")
	vs.Require(e.CheckEverySecs >= 0, key+"check_every_secs", e.CheckEverySecs, "expected >= 0")
	vs.Require(e.CheckEverySteps >= 0, key+"check_every_steps", e.CheckEverySteps, "expected >= 0")
	hasRule := e.MaxStepsWithoutImprovement > 0 || e.Threshold != nil
	vs.Require(e.Metric == "" || hasRule, key+"metric", e.Metric, "expected max_steps_without_improvement or threshold beside it")
	vs.Require(e.Metric != "" || !hasRule, key+"metric", e.Metric, "expected the name of a metric beside the rule")
}

func (e Eval) validate(vs *violation.List) {
	vs.Require(e.Steps >= 0, "eval.steps", e.Steps, "expected > 0, or 0 for to the end of the input")
	vs.Require(e.StartDelaySecs >= 0, "eval.start_delay_secs", e.StartDelaySecs, "expected >= 0")
	vs.Require(e.ThrottleSecs >= 0, "eval.throttle_secs", e.ThrottleSecs, "expected >= 0")
	vs.Require(e.EverySteps >= 0, "eval.every_steps", e.EverySteps, "expected >= 0")
	vs.Require(!strings.ContainsAny(e.Name, `/\`), "eval.name", e.Name, "expected a name without slashes")
	vs.Require(e.Input.Format == "" || e.Input.endsSomewhere() || e.Steps > 0, "eval.steps", e.Steps, "expected > 0, as eval.input never ends")
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

func (e Export) validate(vs *violation.List) {
	vs.OneOf("export.serving_input", e.ServingInput, "auto", "raw", "parsing")
	vs.Require(e.MaxSequenceLength >= 0 && e.MaxSequenceLength <= 1<<16, "export.max_sequence_length", e.MaxSequenceLength, "expected > 0, or 0 where the model has no sequences")
	vs.Require(e.WarmUpRequests >= 0 && e.WarmUpRequests <= 1000, "export.warm_up_requests", e.WarmUpRequests, "expected 0 to 1000")
}

// Endless reports whether nothing but a signal ends this training.
func (t Train) Endless() bool {
	limited := t.MaxSteps > 0 || t.MaxSecs > 0 || t.Epochs > 0 || t.EarlyStopping.Metric != ""
	return !limited && t.Input.Format != "" && !t.Input.endsSomewhere()
}

// endsSomewhere reports whether an input is finite.
func (in Input) endsSomewhere() bool {
	return !in.Repeat && (in.Format != "glyphs" || in.Count > 0 || in.Take > 0)
}

func (in Input) validate(key string, vs *violation.List) {
	in.validateSource(key, vs)
	in.validatePipeline(key, vs)
	for i, c := range in.Columns {
		field := key + ".columns[" + strconv.Itoa(i) + "]"
		c.validate(field, vs)
		vs.Require(!c.Ragged || in.Format != "csv", field+".ragged", c.Ragged, "expected a shape instead, or format jsonl, tfrecord, parquet or arrow: csv has no lists")
	}
	seen := map[string]bool{}
	for i, c := range in.Columns {
		vs.Require(!seen[c.Name], key+".columns["+strconv.Itoa(i)+"].name", c.Name, "expected a name that no other column has")
		seen[c.Name] = true
	}
}

func (in Input) validateSource(key string, vs *violation.List) {
	switch in.Format {
	case "idx":
		vs.Require(in.Images != "", key+".images", in.Images, "expected the file of the images")
	case "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord":
		vs.Require(len(in.Files) > 0, key+".files", in.Files, "expected at least one file name")
	}
	if slices.Contains([]string{"csv", "jsonl", "tfrecord"}, in.Format) {
		vs.Require(len(in.Columns) > 0, key+".columns", nil, "expected the columns of the file")
	}
	vs.Require(in.delimits(), key+".delimiter", in.Delimiter, "expected one character, tab or whitespace")
	vs.Require(in.Count >= 0, key+".count", in.Count, "expected >= 0")
}

// delimits reports whether there is a delimiter of that name.
func (in Input) delimits() bool {
	switch in.Delimiter {
	case "whitespace", "tab", `\t`:
		return true
	}
	return utf8.RuneCountInString(in.Delimiter) == 1 && in.Delimiter != "\n" && in.Delimiter != `"`
}

func (in Input) validatePipeline(key string, vs *violation.List) {
	vs.OneOf(key+".shard", in.Shard, "auto", "files", "rows", "off")
	vs.Require(in.Skip >= 0, key+".skip", in.Skip, "expected >= 0")
	vs.Require(in.Take >= 0, key+".take", in.Take, "expected > 0, or 0 for all")
	vs.Require(in.Shuffle >= 0, key+".shuffle", in.Shuffle, "expected >= 0")
	vs.Require(in.Scale >= 0, key+".scale", in.Scale, "expected > 0, or 0 for none")
	vs.Require(len(in.Mean) == len(in.Std) || len(in.Std) == 0, key+".std", in.Std, "expected as many values as mean")
	for i, s := range in.Std {
		vs.Require(s > 0, key+".std["+strconv.Itoa(i)+"]", s, "expected > 0")
	}
	vs.Require(in.BatchSize > 0 && in.BatchSize <= maxBatch, key+".batch_size", in.BatchSize, fmt.Sprintf("expected 1 to %d", maxBatch))
	vs.Require(in.Prefetch >= -1, key+".prefetch", in.Prefetch, "expected >= 0, or -1 for as many as serve")
	vs.Require(in.Parallelism >= 0, key+".parallelism", in.Parallelism, "expected >= 0")
	vs.Require(in.Augment.CropPadding >= 0, key+".augment.crop_padding", in.Augment.CropPadding, "expected >= 0")
	s := in.Split
	if s == (Split{}) {
		return
	}
	vs.Require(s.Folds >= 2, key+".split.folds", s.Folds, "expected >= 2")
	vs.Require(s.HeldOut >= 0 && s.HeldOut < max(s.Folds, 1), key+".split.held_out", s.HeldOut, "expected >= 0 and < folds")
	vs.OneOf(key+".split.part", s.Part, "train", "eval")
}

func (c Column) validate(field string, vs *violation.List) {
	vs.Require(c.Name != "", field+".name", c.Name, "expected a name")
	vs.OneOf(field+".kind", c.Kind, "numeric", "categorical")
	vs.OneOf(field+".dtype", c.DType, "", "float32", "float64", "int64", "string")
	vs.OneOf(field+".role", c.Role, "feature", "label", "weight", "ignore")
	vs.Require(c.Kind != "numeric" || c.DType != "string" || c.Role == "ignore", field+".dtype", c.DType, "expected a number type for kind numeric")
	for i, n := range c.Shape {
		vs.Require(n > 0, field+".shape["+strconv.Itoa(i)+"]", n, "expected > 0")
	}
	if c.Ragged {
		vs.Require(len(c.Shape) == 0, field+".shape", c.Shape, "expected none: a ragged column is a list of any length")
		vs.Require(c.Default == nil, field+".default", c.Default, "expected none: a missing list of a ragged column is empty")
		vs.Require(c.Role != "weight", field+".role", c.Role, "expected feature or label for a ragged column")
	}
	seen := map[string]bool{}
	for _, word := range c.Vocabulary {
		vs.Require(!seen[word], field+".vocabulary", word, "expected each value once")
		seen[word] = true
	}
}
