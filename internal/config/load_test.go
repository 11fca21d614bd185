package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goestimator/goestimator/internal/testkit"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

var sameConfig = cmp.Options{cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()}

// loadText loads a YAML text with an environment and --set arguments.
func loadText(text string, env, sets []string) (*Config, error) {
	return load(LoadOptions{Path: "job.yaml", Env: append([]string{}, env...), Sets: sets}, []byte(text))
}

func mustLoad(t *testing.T, text string, env, sets []string) *Config {
	t.Helper()
	cfg, err := loadText(text, env, sets)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestPresetsLoadAndRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Root(), "configs", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("presets: %v, %v", files, err)
	}
	for _, path := range files {
		cfg, err := Load(LoadOptions{Path: path, Env: []string{}})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		out := filepath.Join(t.TempDir(), "config.yaml")
		if err := cfg.WriteFile(out); err != nil {
			t.Fatal(err)
		}
		again, err := Load(LoadOptions{Path: out, Env: []string{}})
		if err != nil {
			t.Errorf("%s: resolved config: %v", path, err)
			continue
		}
		if d := cmp.Diff(cfg, again, sameConfig); d != "" {
			text, _ := os.ReadFile(out)
			t.Errorf("%s: round trip (-first +again):\n%s\n%s", path, d, text)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := "model_dir: file\nseed: 1\ntrain: {max_steps: 1, epochs: 1}\n"
	tf := `TF_CONFIG={"model_dir": "tf"}`
	env := "GOESTIMATOR_TRAIN_MAX_STEPS=2"
	for _, c := range []struct {
		name      string
		env, sets []string
		dir       string
		steps     int64
	}{
		{"file", nil, nil, "file", 1},
		{"TF_CONFIG over file", []string{tf}, nil, "tf", 1},
		{"environment over file", []string{env}, nil, "file", 2},
		{"environment over TF_CONFIG", []string{tf, "GOESTIMATOR_MODEL_DIR=env"}, nil, "env", 1},
		{"set over all", []string{tf, env, "GOESTIMATOR_MODEL_DIR=env"}, []string{"model_dir=set", "train.max_steps=3"}, "set", 3},
		{"later set wins", nil, []string{"train.max_steps=3", "train.max_steps=4"}, "file", 4},
		{"empty variable is not set", []string{"GOESTIMATOR_TRAIN_MAX_STEPS="}, nil, "file", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := mustLoad(t, file, c.env, c.sets)
			if cfg.ModelDir != c.dir || cfg.Train.MaxSteps != c.steps || cfg.Seed != 1 {
				t.Errorf("got model_dir %q, max_steps %d, seed %d", cfg.ModelDir, cfg.Train.MaxSteps, cfg.Seed)
			}
			rc, err := cfg.RunConfig()
			if err != nil || rc.ModelDir() != c.dir {
				t.Errorf("RunConfig: model_dir %q, %v", rc.ModelDir(), err)
			}
		})
	}
}

func TestViolationsAreReportedTogether(t *testing.T) {
	text := "train:\n  max_step: 5\n  input: {format: idx, batch_size: 0}\nrun: {save_summary_steps: -1}\nmodel: {name: 5}\ntrian:\n"
	_, err := loadText(text, []string{"GOESTIMATOR_TRAIN_MAX_STEP=3", `TF_CONFIG={"cluster": 5}`}, []string{"optimizer.nam=sgd", "seed=x", "nokey"})
	var v *runconfig.ViolationsError
	if !errors.As(err, &v) {
		t.Fatalf("got %v, want a runconfig.ViolationsError", err)
	}
	for _, want := range []string{
		"train.max_step: got 5, which is not a known key; did you mean train.max_steps? (job.yaml:2)",
		`train.input.images: got "", expected the file of the images`,
		"train.input.batch_size: got 0, expected 1 to 16777216 (job.yaml:3)",
		"run.save_summary_steps: got -1, expected >= 0 (job.yaml:4)",
		"model.name: got 5, expected text; put it in quotes (job.yaml:5)",
		"trian: got nothing, which is not a known key; did you mean train? (job.yaml:6)",
		`GOESTIMATOR_TRAIN_MAX_STEP: got "3", which is not a known key; did you mean GOESTIMATOR_TRAIN_MAX_STEPS? (environment)`,
		"TF_CONFIG.cluster: got 5, expected a map of jobs to addresses",
		`optimizer.nam: got "sgd", which is not a known key; did you mean optimizer.name? (--set optimizer.nam)`,
		`seed: got "x", expected an integer (--set seed)`,
		`--set: got "nokey", expected key=value`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q", want)
		}
	}
	if len(v.Violations) != 11 {
		t.Errorf("%d violations, want 11:\n%v", len(v.Violations), err)
	}
}

func TestLearningRateForms(t *testing.T) {
	cosine := "optimizer: {learning_rate: {schedule: cosine, initial: 0.1, decay_steps: 100}}\n"
	for _, c := range []struct {
		text string
		sets []string
		want optimizers.LearningRateSpec
	}{
		{"", nil, optimizers.LearningRateSpec{Schedule: "constant", Initial: 0.001}},
		{"optimizer: {learning_rate: 1}", nil, optimizers.LearningRateSpec{Schedule: "constant", Initial: 1}},
		{cosine, nil, optimizers.LearningRateSpec{Schedule: "cosine", Initial: 0.1, DecaySteps: 100}},
		{"optimizer: {learning_rate: {schedule: noam, model_size: 64, decay_steps: 9}}", nil, optimizers.LearningRateSpec{Schedule: "noam", Initial: 1, ModelSize: 64, DecaySteps: 9}},
		{"optimizer: {learning_rate: {schedule: noam, model_size: 64, decay_steps: 9, initial: 2}}", nil, optimizers.LearningRateSpec{Schedule: "noam", Initial: 2, ModelSize: 64, DecaySteps: 9}},
		{cosine, []string{"optimizer.learning_rate=0.5"}, optimizers.LearningRateSpec{Schedule: "constant", Initial: 0.5}},
		{cosine, []string{"optimizer.learning_rate.initial=0.5"}, optimizers.LearningRateSpec{Schedule: "cosine", Initial: 0.5, DecaySteps: 100}},
		{"optimizer: {learning_rate: 1}", []string{"optimizer.learning_rate={schedule: cosine, decay_steps: 7}"}, optimizers.LearningRateSpec{Schedule: "cosine", Initial: 1, DecaySteps: 7}},
	} {
		cfg := mustLoad(t, c.text, nil, c.sets)
		if d := cmp.Diff(c.want, cfg.Optimizer.LearningRate); d != "" {
			t.Errorf("%q %q (-want +got):\n%s", c.text, c.sets, d)
		}
	}
}

func TestSlurmGivesTheCluster(t *testing.T) {
	env := []string{"GOESTIMATOR_RUN_CLUSTER_RESOLVER=slurm", "GOESTIMATOR_SLURM_JOBS=chief=1,worker=1", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2",
		"SLURM_STEP_NODELIST=n[1-2]", "SLURM_STEP_TASKS_PER_NODE=1(x2)"}
	cfg, err := Load(LoadOptions{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	rc, err := cfg.RunConfig()
	if err != nil {
		t.Fatal(err)
	}
	if got := rc.ClusterSpec().String() + " " + rc.TaskType(); got != "chief|0=n1:8888,worker|0=n2:8888 worker" {
		t.Errorf("got %s", got)
	}
	if _, err := Load(LoadOptions{Env: env[:1]}); err == nil || !strings.Contains(err.Error(), "slurm: ") {
		t.Errorf("outside of a step: got %v, expected an error", err)
	}
}

// TestSlurmLeavesModelDir: TF_CONFIG's model_dir counts where Slurm gives the cluster, also if the rest of it
// is invalid.
func TestSlurmLeavesModelDir(t *testing.T) {
	slurm := []string{"GOESTIMATOR_RUN_CLUSTER_RESOLVER=slurm", "GOESTIMATOR_SLURM_JOBS=chief=1", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1",
		"SLURM_STEP_NODELIST=n1", "SLURM_STEP_TASKS_PER_NODE=1"}
	for _, c := range []struct{ tf, dir, err string }{
		{`{"model_dir": "tf"}`, "tf", ""},
		{`{"model_dir": "tf", "task": 5, "cluster": {"worker": [1]}}`, "tf", ""},
		{`{"task": 5}`, "file", ""},
		{`{"model_dir": "tf"`, "", "TF_CONFIG: got"},
		{`{"model_dir": ""}`, "", "TF_CONFIG.model_dir: got"},
		{`{"model_dir": 3}`, "", "TF_CONFIG.model_dir: got 3, expected text"},
	} {
		cfg, err := loadText("model_dir: file", append(slices.Clone(slurm), "TF_CONFIG="+c.tf), nil)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, expected %q", c.tf, err, c.err)
			}
		case err != nil || cfg.ModelDir != c.dir:
			t.Errorf("%s: got %+v, %v, expected model_dir %s", c.tf, cfg, err, c.dir)
		}
	}
}

// What Keys lists can be set.
func TestKeys(t *testing.T) {
	keys := Keys()
	for _, want := range []string{"model_dir", "train.max_steps", "optimizer.learning_rate", "optimizer.learning_rate.schedule", "model.params.", "run.log_step_count_steps"} {
		if !slices.Contains(keys, want) {
			t.Errorf("no %s among the keys", want)
		}
	}
	for _, key := range keys {
		if n := schema().find(strings.TrimSuffix(key, ".")); n == nil || (n.kind == kindFree) != strings.HasSuffix(key, ".") {
			t.Errorf("%s is none", key)
		}
	}
	if slices.Contains(keys, "train") {
		t.Error("a section is among the keys")
	}
}
