package runconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
func (c *Config) validate(vs *violations) {
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
	vs.regexp("model.warm_start.vars", c.Model.WarmStart.Vars)
	vs.regexp("optimizer.weight_decay_exclude", c.Optimizer.WeightDecayExclude)
}

func (vs *violations) regexp(field, text string) {
	if _, err := regexp.Compile(text); err != nil {
		vs.add(field, text, "expected a regular expression: "+err.Error())
	}
}

// validateRun takes the rules of RunConfig; its fields live below run here.
func (c *Config) validateRun(vs *violations) {
	_, err := c.RunConfig()
	var found *ViolationsError
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
			vs.list = append(vs.list, v)
		}
	}
	vs.require(c.Run.ProfileSteps >= 0, "run.profile_steps", c.Run.ProfileSteps, "expected >= 0")
	vs.require(c.Run.SummaryImages >= 0, "run.summary_images", c.Run.SummaryImages, "expected >= 0")
	vs.oneOf("run.cluster_resolver", c.Run.ClusterResolver, "tf_config", "slurm")
}

func (t Train) validate(vs *violations) {
	vs.require(t.MaxSteps >= 0, "train.max_steps", t.MaxSteps, "expected > 0, or 0 for no limit")
	vs.require(t.Epochs >= 0, "train.epochs", t.Epochs, "expected > 0, or 0 for as the input says")
	endless := t.Input.Format == "glyphs" && t.Input.Count == 0 && t.Input.Take == 0
	vs.require(t.Epochs <= 0 || !endless, "train.epochs", t.Epochs, "expected train.max_steps instead, or train.input.count, as train.input never ends")
	vs.require(t.MaxSecs >= 0, "train.max_secs", t.MaxSecs, "expected > 0, or 0 for no limit")
	e, key := t.EarlyStopping, "train.early_stopping."
	vs.require(e.MaxStepsWithoutImprovement >= 0, key+"max_steps_without_improvement", e.MaxStepsWithoutImprovement, "expected >= 0")
	vs.require(e.MinSteps >= 0, key+"min_steps", e.MinSteps, "expected >= 0")
	vs.require(e.CheckEverySecs >= 0, key+"check_every_secs", e.CheckEverySecs, "expected >= 0")
	vs.require(e.CheckEverySteps >= 0, key+"check_every_steps", e.CheckEverySteps, "expected >= 0")
	hasRule := e.MaxStepsWithoutImprovement > 0 || e.Threshold != nil
	vs.require(e.Metric == "" || hasRule, key+"metric", e.Metric, "expected max_steps_without_improvement or threshold beside it")
	vs.require(e.Metric != "" || !hasRule, key+"metric", e.Metric, "expected the name of a metric beside the rule")
}

func (e Eval) validate(vs *violations) {
	vs.require(e.Steps >= 0, "eval.steps", e.Steps, "expected > 0, or 0 for to the end of the input")
	vs.require(e.StartDelaySecs >= 0, "eval.start_delay_secs", e.StartDelaySecs, "expected >= 0")
	vs.require(e.ThrottleSecs >= 0, "eval.throttle_secs", e.ThrottleSecs, "expected >= 0")
	vs.require(e.EverySteps >= 0, "eval.every_steps", e.EverySteps, "expected >= 0")
	vs.require(!strings.ContainsAny(e.Name, `/\`), "eval.name", e.Name, "expected a name without slashes")
	vs.require(e.Input.Format == "" || e.Input.endsSomewhere() || e.Steps > 0, "eval.steps", e.Steps, "expected > 0, as eval.input never ends")
	var names []string
	for i, x := range e.Exporters {
		field := "eval.exporters[" + strconv.Itoa(i) + "]"
		vs.require(x.Name != "" && !strings.ContainsAny(x.Name, `/\`), field+".name", x.Name, "expected a name without slashes")
		vs.require(!slices.Contains(names, x.Name), field+".name", x.Name, "expected a name that no other exporter has")
		names = append(names, x.Name)
		vs.oneOf(field+".kind", x.Kind, "final", "latest", "best", "steps")
		vs.require(x.ExportsToKeep >= -1, field+".exports_to_keep", x.ExportsToKeep, "expected > 0, 0 for the default, or -1 for all")
		vs.require(x.Kind != "steps" || len(x.Steps) > 0, field+".steps", x.Steps, "expected at least one step")
	}
}

// validateEvaluated requires evaluations where something uses them.
func (c *Config) validateEvaluated(vs *violations) {
	const bound = "expected eval.input, too: it uses the metrics of evaluations, and there is no eval section"
	if c.Eval.Input.Format != "" {
		return
	}
	metric := c.Train.EarlyStopping.Metric
	vs.require(metric == "" || vs.below("train.early_stopping"), "train.early_stopping.metric", metric, bound)
	var names []string
	for _, x := range c.Eval.Exporters {
		names = append(names, x.Name)
	}
	vs.require(len(names) == 0 || vs.below("eval.exporters"), "eval.exporters", names, bound)
}

func (e Export) validate(vs *violations) {
	vs.oneOf("export.serving_input", e.ServingInput, "auto", "raw", "parsing")
	vs.require(e.MaxSequenceLength >= 0 && e.MaxSequenceLength <= 1<<16, "export.max_sequence_length", e.MaxSequenceLength, "expected > 0, or 0 where the model has no sequences")
	vs.require(e.WarmUpRequests >= 0 && e.WarmUpRequests <= 1000, "export.warm_up_requests", e.WarmUpRequests, "expected 0 to 1000")
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

func (in Input) validate(key string, vs *violations) {
	in.validateSource(key, vs)
	in.validatePipeline(key, vs)
	for i, c := range in.Columns {
		field := key + ".columns[" + strconv.Itoa(i) + "]"
		c.validate(field, vs)
		vs.require(!c.Ragged || in.Format != "csv", field+".ragged", c.Ragged, "expected a shape instead, or format jsonl, tfrecord, parquet or arrow: csv has no lists")
	}
	seen := map[string]bool{}
	for i, c := range in.Columns {
		vs.require(!seen[c.Name], key+".columns["+strconv.Itoa(i)+"].name", c.Name, "expected a name that no other column has")
		seen[c.Name] = true
	}
}

func (in Input) validateSource(key string, vs *violations) {
	switch in.Format {
	case "idx":
		vs.require(in.Images != "", key+".images", in.Images, "expected the file of the images")
	case "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord":
		vs.require(len(in.Files) > 0, key+".files", in.Files, "expected at least one file name")
	}
	if slices.Contains([]string{"csv", "jsonl", "tfrecord"}, in.Format) {
		vs.require(len(in.Columns) > 0, key+".columns", nil, "expected the columns of the file")
	}
	vs.require(in.delimits(), key+".delimiter", in.Delimiter, "expected one character, tab or whitespace")
	vs.require(in.Count >= 0, key+".count", in.Count, "expected >= 0")
}

// delimits reports whether there is a delimiter of that name.
func (in Input) delimits() bool {
	switch in.Delimiter {
	case "whitespace", "tab", `\t`:
		return true
	}
	return utf8.RuneCountInString(in.Delimiter) == 1 && in.Delimiter != "\n" && in.Delimiter != `"`
}

func (in Input) validatePipeline(key string, vs *violations) {
	vs.oneOf(key+".shard", in.Shard, "auto", "files", "rows", "off")
	vs.require(in.Skip >= 0, key+".skip", in.Skip, "expected >= 0")
	vs.require(in.Take >= 0, key+".take", in.Take, "expected > 0, or 0 for all")
	vs.require(in.Shuffle >= 0, key+".shuffle", in.Shuffle, "expected >= 0")
	vs.require(in.Scale >= 0, key+".scale", in.Scale, "expected > 0, or 0 for none")
	vs.require(len(in.Mean) == len(in.Std) || len(in.Std) == 0, key+".std", in.Std, "expected as many values as mean")
	for i, s := range in.Std {
		vs.require(s > 0, key+".std["+strconv.Itoa(i)+"]", s, "expected > 0")
	}
	vs.require(in.BatchSize > 0 && in.BatchSize <= maxBatch, key+".batch_size", in.BatchSize, fmt.Sprintf("expected 1 to %d", maxBatch))
	vs.require(in.Prefetch >= -1, key+".prefetch", in.Prefetch, "expected >= 0, or -1 for as many as serve")
	vs.require(in.Parallelism >= 0, key+".parallelism", in.Parallelism, "expected >= 0")
	vs.require(in.Augment.CropPadding >= 0, key+".augment.crop_padding", in.Augment.CropPadding, "expected >= 0")
	s := in.Split
	if s == (Split{}) {
		return
	}
	vs.require(s.Folds >= 2, key+".split.folds", s.Folds, "expected >= 2")
	vs.require(s.HeldOut >= 0 && s.HeldOut < max(s.Folds, 1), key+".split.held_out", s.HeldOut, "expected >= 0 and < folds")
	vs.oneOf(key+".split.part", s.Part, "train", "eval")
}

func (c Column) validate(field string, vs *violations) {
	vs.require(c.Name != "", field+".name", c.Name, "expected a name")
	vs.oneOf(field+".kind", c.Kind, "numeric", "categorical")
	vs.oneOf(field+".dtype", c.DType, "", "float32", "float64", "int64", "string")
	vs.oneOf(field+".role", c.Role, "feature", "label", "weight", "ignore")
	vs.require(c.Kind != "numeric" || c.DType != "string" || c.Role == "ignore", field+".dtype", c.DType, "expected a number type for kind numeric")
	for i, n := range c.Shape {
		vs.require(n > 0, field+".shape["+strconv.Itoa(i)+"]", n, "expected > 0")
	}
	if c.Ragged {
		vs.require(len(c.Shape) == 0, field+".shape", c.Shape, "expected none: a ragged column is a list of any length")
		vs.require(c.Default == nil, field+".default", c.Default, "expected none: a missing list of a ragged column is empty")
		vs.require(c.Role != "weight", field+".role", c.Role, "expected feature or label for a ragged column")
	}
	seen := map[string]bool{}
	for _, word := range c.Vocabulary {
		vs.require(!seen[word], field+".vocabulary", word, "expected each value once")
		seen[word] = true
	}
}
