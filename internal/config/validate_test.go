package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/runconfig"
)

// TestBounds: each value out of bounds is one violation, at its key.
func TestBounds(t *testing.T) {
	const csv = "train.input={format: csv, files: a, columns: [{name: x}]}"
	const jsonl = "train.input={format: jsonl, files: a, columns: [{name: x}]}"
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"train.max_steps=-1"}, "train.max_steps: got -1, expected > 0, or 0 for no limit (--set train.max_steps)"},
		{[]string{"train.epochs=2", "train.input.format=glyphs"}, "train.epochs: got 2, expected train.max_steps instead"},
		{[]string{"train.early_stopping.metric=loss"}, "train.early_stopping.metric: got \"loss\", expected max_steps_without_improvement, threshold or restore_best"},
		{[]string{"train.early_stopping.threshold=1"}, "train.early_stopping.metric: got \"\", expected the name of a metric"},
		{[]string{"train.early_stopping={metric: loss, threshold: 1}"}, "train.early_stopping.metric: got \"loss\", expected eval.input, too"},
		{[]string{"eval.exporters=[{name: a, kind: best}]"}, "eval.exporters: got [a], expected eval.input, too"},
		{[]string{"eval.input.format=glyphs"}, "eval.steps: got 0, expected > 0, as eval.input never ends"},
		{[]string{"eval.name=a/b"}, "eval.name"},
		{[]string{"predict.input.files=a.csv"}, "predict.input.format: got \"\", expected the format of the data beside predict.input.files, for example csv"},
		{[]string{"predict.input.batch_size=1"}, "predict.input.format: got \"\", expected the format of the data beside predict.input.batch_size"},
		{[]string{"eval.input.take=1"}, "eval.input.format: got \"\", expected the format of the data beside eval.input.take"},
		{[]string{"eval.exporters=[{name: a, kind: best}, {name: a, kind: best}]"}, `eval.exporters[1].name: got "a", expected a name that no other exporter has (--set eval.exporters)`},
		{[]string{"eval.exporters=[{name: a, kind: steps}]"}, "eval.exporters[0].steps: got [], expected at least one step"},
		{[]string{"eval.exporters=[{name: a, kid: best}]"}, "eval.exporters[0].kid: got \"best\", which is not a known key; known are name, kind"},
		{[]string{"train.input.format=csv", "train.input.files=a"}, "train.input.columns: got nothing, expected the columns of the file"},
		{[]string{"train.input.format=idx"}, "train.input.images"},
		{[]string{"train.input.format=parquet"}, "train.input.files: got [], expected at least one file name"},
		{[]string{"train.input.delimiter=ab"}, "train.input.delimiter: got \"ab\", expected one character"},
		{[]string{"train.input.batch_size=0"}, "train.input.batch_size: got 0, expected 1 to 16777216"},
		{[]string{"train.input.mean=[1, 2]", "train.input.std=[1]"}, "train.input.std: got [1], expected as many values as mean"},
		{[]string{"train.input.split={folds: 1, part: eval}"}, "train.input.split.folds: got 1, expected >= 2"},
		{[]string{"train.input.split={folds: 3, held_out: 3, part: eval}"}, "train.input.split.held_out: got 3, expected >= 0 and < folds"},
		{[]string{"train.input.split={folds: 3}"}, "train.input.split.part: got \"\", expected one of train, eval"},
		{[]string{csv, "train.input.columns=[{name: x, role: lable}]"}, "train.input.columns[0].role: got \"lable\", expected one of feature, label, weight, ignore"},
		{[]string{csv, "train.input.columns=[{name: x}, {name: x}]"}, "train.input.columns[1].name: got \"x\", expected a name that no other column has"},
		{[]string{csv, "train.input.columns=[{name: x, vocabulary: [a, a]}]"}, "train.input.columns[0].vocabulary: got \"a\", expected each value once"},
		{[]string{csv, "train.input.columns=[{name: x, shape: [0]}]"}, "train.input.columns[0].shape[0]: got 0, expected > 0"},
		{[]string{csv, "train.input.columns=[{name: x, ragged: true}]"}, "train.input.columns[0].ragged: got true, expected a shape instead, or format jsonl"},
		{[]string{jsonl, "train.input.columns=[{name: x, ragged: true, shape: [2]}]"}, "train.input.columns[0].shape: got [2], expected none: a ragged column"},
		{[]string{jsonl, "train.input.columns=[{name: x, ragged: true, default: 0}]"}, "train.input.columns[0].default: got 0, expected none: a missing list"},
		{[]string{jsonl, "train.input.columns=[{name: x, ragged: true, role: weight}]"}, "train.input.columns[0].role: got \"weight\", expected feature or label"},
		{[]string{jsonl, "train.input.columns=[{name: x, ragged: 3}]"}, "train.input.columns[0].ragged: got 3, expected"},
		{[]string{"train.input.format=tfrecord", "train.input.files=a"}, "train.input.columns: got nothing, expected the columns of the file"},
		{[]string{csv, "train.input.columns=[{name: x, kind: numeric, dtype: string}]"}, "train.input.columns[0].dtype: got \"string\", expected a number type"},
		{[]string{"optimizer.name=adm"}, "optimizer.name: got \"adm\", expected one of adadelta, adagrad, adam, adamax, adamw, amsgrad, ftrl, lamb, lion, momentum, nadam, rmsprop, sgd, keras_adagrad,"},
		{[]string{"optimizer.momentum=0.9"}, "optimizer.momentum: got 0.9, which the rule adam does not have"},
		{[]string{"optimizer.nesterov=true"}, "optimizer.nesterov: got true, which the rule adam does not have"},
		{[]string{"optimizer={name: rmsprop, rho: 1}"}, "optimizer.rho: got 1, expected >= 0 and < 1"},
		{[]string{"optimizer.clip_norm=-1"}, "optimizer.clip_norm: got -1, expected > 0, or 0 for no limit"},
		{[]string{"optimizer={clip_norm: 1, clip_value: 2}"}, "optimizer.clip_value: got 2, expected at most one of clip_norm, clip_value, global_clip_norm"},
		{[]string{"optimizer.beta1=1"}, "optimizer.beta1: got 1, expected >= 0 and < 1"},
		{[]string{"optimizer.epsilon=-1"}, "optimizer.epsilon: got -1, expected >= 0"},
		{[]string{"optimizer={name: ftrl, lr_power: 1}"}, "optimizer.lr_power: got 1, expected <= 0"},
		{[]string{"optimizer.clip_norm=1", "optimizer.global_clip_norm=1"}, "optimizer.global_clip_norm: got 1, expected at most one of"},
		{[]string{"optimizer.accumulate_steps=0"}, "optimizer.accumulate_steps: got 0, expected >= 1"},
		{[]string{"optimizer.loss_scale=0"}, "optimizer.loss_scale: got \"0\", expected none, dynamic or a number from 1.18e-38 to 3.4e+38"},
		{[]string{"optimizer.loss_scale=1e-39"}, "optimizer.loss_scale: got \"1e-39\", expected none, dynamic or a number from"},
		{[]string{"optimizer.loss_scale=static"}, "optimizer.loss_scale: got \"static\", expected none, dynamic or"},
		{[]string{"optimizer.learning_rate=-1"}, "optimizer.learning_rate.initial: got -1, expected >= 0"},
		{[]string{"optimizer.learning_rate=fast"}, "optimizer.learning_rate: got \"fast\", expected a number or a map"},
		{[]string{"optimizer.learning_rate={schedule: cosine}"}, "optimizer.learning_rate.decay_steps: got 0, expected > 0 for schedule cosine"},
		{[]string{"optimizer.learning_rate={schedule: exponential, decay_steps: 1}"}, "optimizer.learning_rate.decay_rate: got 0, expected > 0 for schedule exponential"},
		{[]string{"optimizer.learning_rate={schedule: piecewise_constant, boundaries: [2, 1], values: [1, 2, 3]}"}, "optimizer.learning_rate.boundaries: got [2 1], expected increasing steps"},
		{[]string{"model.warm_start.vars=("}, "model.warm_start.vars: got \"(\", expected a regular expression"},
		{[]string{"model.params=5"}, "model.params: got 5, expected a map with text keys"},
		{[]string{"strategy.name=miror"}, "strategy.name: got \"miror\", expected one of default,"},
		{[]string{"strategy.sync=true"}, "strategy.sync: got true, which only strategy.name parameter_server has"},
		{[]string{"strategy.replicas=2"}, "strategy.replicas: got 2, which only strategy.name mirrored, central_storage, multi_worker_mirrored and parameter_server have"},
		{[]string{"strategy.name=parameter_server", "strategy.replicas_to_aggregate=2"}, "strategy.replicas_to_aggregate: got 2, which only strategy.sync: true has"},
		{[]string{"strategy.name=parameter_server", "strategy.partitioner.kind=even"}, "strategy.partitioner.kind: got \"even\", expected one of none,"},
		{[]string{"strategy.name=parameter_server", "strategy.partitioner.variables=[{match: x, kind: even}]"}, "strategy.partitioner.variables[0].kind: got \"even\", expected one of none,"},
		{[]string{"strategy.name=parameter_server", "strategy.partitioner.variables=[{match: '('}]"}, "strategy.partitioner.variables[0].match: got \"(\", expected a regular expression"},
		{[]string{"rpc.security=tls"}, "rpc.security: got \"tls\", which needs rpc.cert_file"},
		{[]string{"rpc.client_auth=true"}, "rpc.client_auth: got true, which needs rpc.ca_file"},
		{[]string{"run.cluster_resolver=consul"}, "run.cluster_resolver: got \"consul\", expected one of tf_config"},
		{[]string{"rpc.security=none"}, "rpc.security: got \"none\", expected one of auto, tls"},
		{[]string{"run.save_checkpoints_steps=5", "run.save_checkpoints_secs=5"}, "run.save_checkpoints_secs: got 5, save_checkpoints_steps and save_checkpoints_secs cannot be both set"},
		{[]string{"run.device_filters=/job:ps"}, "run.device_filters: got [/job:ps], expected none: nothing heeds filters yet"},
		{[]string{"run.protocol=grpc+verbs"}, `run.protocol: got "grpc+verbs", expected grpc or nothing`},
		{[]string{"run.profile_steps=-1"}, "run.profile_steps: got -1, expected >= 0"},
		{[]string{"seed=1.5"}, "seed: got 1.5, expected an integer (--set seed)"},
		{[]string{"seed="}, "seed: got \"\", expected an integer (--set seed)"},
		{[]string{"seed=[1"}, "seed: got \"[1\", expected an integer in YAML"},
		{[]string{"train.input=[1]"}, "train.input: got [1], expected a map"},
		{[]string{"eval.exporters={a: b}"}, "eval.exporters: got map[a:b], expected a list"},
		{[]string{"eval.exporters=[5]"}, "eval.exporters[0]: got 5, expected a map"},
		{[]string{"optimiser.name=sgd"}, "optimiser.name: got \"sgd\", which is not a known key; did you mean optimizer.name?"},
		{[]string{"batch_size=5"}, "batch_size: got \"5\", which is not a known key; did you mean"},
		{[]string{"zzzzzzzzz=5"}, "zzzzzzzzz: got \"5\", which is not a known key (--set zzzzzzzzz)"},
	} {
		t.Run(strings.Join(c.sets, " "), func(t *testing.T) {
			_, err := loadText("", nil, c.sets)
			var v *runconfig.ViolationsError
			if !errors.As(err, &v) || len(v.Violations) != 1 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant one violation: %s", err, c.want)
			}
		})
	}
}

// TestTwoNamesOfAKey: either name sets it, the canonical one is written; the variable of the long one is another key's.
func TestTwoNamesOfAKey(t *testing.T) {
	const env = "GOESTIMATOR_OPTIMIZER_LEARNING_RATE_POWER"
	for _, c := range []struct {
		file string
		env  []string
		sets []string
		want float64 // of lr_power; 0: not given
		err  string
	}{
		{file: "optimizer: {name: ftrl, lr_power: -0.3}", want: -0.3},
		{file: "optimizer: {name: ftrl, learning_rate_power: -0.3}", want: -0.3},
		{file: "optimizer: {name: ftrl, Learning_Rate_Power: -0.3}", sets: []string{"optimizer.lr_power=-0.4"}, want: -0.4},
		{file: "optimizer: {name: ftrl, lr_power: -0.3}", sets: []string{"optimizer.learning_rate_power=-0.4"}, want: -0.4},
		{file: "optimizer: {name: ftrl}", env: []string{"GOESTIMATOR_OPTIMIZER_LR_POWER=-0.2"}, want: -0.2},
		{file: "optimizer: {name: ftrl, learning_rate: {schedule: polynomial, decay_steps: 5}}", env: []string{env + "=2"}},
		{file: "optimizer:\n  name: ftrl\n  lr_power: -1\n  learning_rate_power: -2", err: "optimizer.learning_rate_power: got -2, expected one of lr_power and learning_rate_power, two names of one key (job.yaml:4)"},
		{file: "optimizer:\n  name: ftrl\n  learning_rate_power: 2", err: "optimizer.lr_power: got 2, expected <= 0 (job.yaml:3)"},
		{file: "optimizer: {name: adam}", sets: []string{"optimizer.learning_rate_power=-1"}, err: "optimizer.lr_power: got -1, which the rule adam does not have"},
		{file: "optimizer: {name: keras_ftrl, l1_regularization_strength: 1, l2_regularization_strength: 2, l2_shrinkage_regularization_strength: 3, beta: 4}"},
		{file: "optimizer: {name: ftrl, beta: -1}", err: "optimizer.beta: got -1, expected >= 0"},
		{file: "optimizer: {name: ftrl, l2_shrinkage: -1}", err: "optimizer.l2_shrinkage: got -1, expected >= 0"},
	} {
		cfg, err := loadText(c.file, c.env, c.sets)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: got %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		o := cfg.Optimizer
		if got := o.LearningRatePower; (got == nil) != (c.want == 0) || got != nil && *got != c.want {
			t.Errorf("%+v: got lr_power %v", c, got)
		}
		if len(c.env) > 0 && c.want == 0 && o.LearningRate.Power != 2 {
			t.Errorf("%+v: got learning_rate.power %v, expected 2", c, o.LearningRate.Power)
		}
		if o.Beta != nil && (*o.L1 != 1 || *o.L2 != 2 || *o.L2Shrinkage != 3 || *o.Beta != 4) {
			t.Errorf("%+v: got %v", c, o)
		}
		text, err := cfg.Marshal()
		if err != nil || strings.Contains(string(text), "learning_rate_power") {
			t.Errorf("%+v: written as %s, error %v", c, text, err)
		}
	}
}

// TestEndless: training has an end where one of its limits is set, or where its input ends.
func TestEndless(t *testing.T) {
	repeating := "train.input={format: csv, files: a, columns: [{name: x}], repeat: true}"
	for _, c := range []struct {
		sets []string
		want bool
	}{
		{nil, false}, // nothing to train on
		{[]string{repeating}, true},
		{[]string{repeating, "train.input.repeat=false"}, false},
		{[]string{repeating, "train.input.take=5"}, true},
		{[]string{repeating, "train.max_steps=1"}, false},
		{[]string{repeating, "train.max_secs=0.5"}, false},
		{[]string{repeating, "train.epochs=1"}, false},
		{[]string{repeating, "train.early_stopping={metric: loss, threshold: 1}", "eval.input={format: glyphs, count: 5}"}, false},
		{[]string{"train.input.format=glyphs"}, true},
		{[]string{"train.input.format=glyphs", "train.input.count=5"}, false},
		{[]string{"train.input.format=glyphs", "train.input.take=5"}, false},
	} {
		cfg, err := Load(LoadOptions{Sets: append([]string{"model_dir=m", "model.name=linear"}, c.sets...)})
		if err != nil {
			t.Errorf("%v: %v", c.sets, err)
			continue
		}
		if got := cfg.Train.Endless(); got != c.want {
			t.Errorf("%v: got %t, expected %t", c.sets, got, c.want)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("train:\n  max_steps: [1\nseed: 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "read the config file: open " + filepath.Join(dir, "none.yaml"),
		dir:                             "read the config file: read " + dir,
		bad:                             "config file " + bad + ":",
	} {
		_, err := Load(LoadOptions{Path: path, Env: []string{}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

func TestSameKeyTwice(t *testing.T) {
	_, err := loadText("seed: 1\nSeed: 2\n", nil, nil)
	if want := "seed: got \"the same key twice\", expected it once"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWriteFileToAFolderThatIsNotThere(t *testing.T) {
	cfg := mustLoad(t, "", nil, nil)
	if err := cfg.WriteFile(filepath.Join(t.TempDir(), "no", "config.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFileNamesOfInputs(t *testing.T) {
	cfg := mustLoad(t, "data_dir: d\neval: {input: {format: csv, files: [a.csv, /b.csv], columns: [{name: x}]}}\n", nil, nil)
	in := cfg.PredictInput()
	if in.Format != "csv" || in.Files[0] != filepath.Join("d", "a.csv") || in.Files[1] != "/b.csv" || in.Images != "" {
		t.Errorf("got %+v", in)
	}
	if cfg.Eval.Input.Files[0] != "a.csv" {
		t.Error("the config itself changed")
	}
	cfg = mustLoad(t, "predict: {input: {format: idx, images: i}}", nil, nil)
	if in := cfg.PredictInput(); in.Format != "idx" || in.Images != "i" {
		t.Errorf("got %+v", in)
	}
}

// TestPredictedFile: predict.input needs no files where a file is named beside the config.
func TestPredictedFile(t *testing.T) {
	for _, source := range []string{"predict: {input: {format: csv, columns: [{name: x}]}}", "predict: {input: {format: idx}}"} {
		if _, err := load(LoadOptions{Env: []string{}}, []byte(source)); err == nil || !strings.Contains(err.Error(), "predict.input.") {
			t.Errorf("%s without a file: got %v", source, err)
		}
		cfg, err := load(LoadOptions{Env: []string{}, PredictFile: "new.csv"}, []byte(source))
		if err != nil {
			t.Errorf("%s with a file: %v", source, err)
		} else if in := cfg.PredictInput(); len(in.Files) > 0 || in.Images != "" {
			t.Errorf("%s: the config has become %+v", source, in)
		}
	}
	if _, err := load(LoadOptions{Env: []string{}, PredictFile: "new.csv"}, []byte("eval: {input: {format: csv, columns: [{name: x}]}}")); err == nil {
		t.Error("eval.input needs files for evaluation")
	}
}

func TestFreeParameters(t *testing.T) {
	cfg := mustLoad(t, "model: {params: {Classes: 10, rate: 2.0, deep.er: 1, layers: [8, 4.5]}}",
		[]string{"GOESTIMATOR_MODEL_PARAMS_DROPOUT=0.5", "GOESTIMATOR_MODEL_PARAMS_CLASSES=3", "GOESTIMATOR_JOB_TOKEN=x"},
		[]string{"model.params={rate: 3}", "model.params.name=abc"})
	p := cfg.Model.Params
	if p["classes"] != 3 || p["rate"] != 3 || p["dropout"] != 0.5 || p["name"] != "abc" || p["deep"].(map[string]any)["er"] != 1 {
		t.Errorf("got %v", p)
	}
	if layers := p["layers"].([]any); layers[0] != 8 || layers[1] != 4.5 {
		t.Errorf("layers %v", layers)
	}
}

// TestEmptiedFormat: an input whose format is emptied is off, with all its keys but the size of batches of evaluations.
func TestEmptiedFormat(t *testing.T) {
	const text = `eval: {input: {format: csv, files: a.csv, columns: [{name: x}], batch_size: 3}}
predict: {input: {format: csv, files: a.csv, columns: [{name: x}], batch_size: 4}}
`
	cfg, err := loadText(text, nil, []string{"eval.input.format=", "predict.input.format="})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Eval.Input.BatchSize = 3
	if diff := cmp.Diff(want.Eval, cfg.Eval) + cmp.Diff(want.Predict, cfg.Predict); diff != "" {
		t.Error(diff)
	}
	if _, err := loadText("eval: {input: {batch_size: 3}}", nil, nil); err != nil {
		t.Error(err)
	}
}
