package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/runconfig"
)

const adaptedConfig = `
model_dir: DIR/run
feature_columns: [{name: age, type: numeric, key: age, normalize: {adapt: true}}]
model: {name: linear_classifier, params: {feature_columns: [age]}}
train:
  input: {format: line, columns: [{name: age}, {name: y, role: label}], batch_size: 2}
  max_steps: 1
`

// runAdapted runs a command with a config and returns its exit code and messages.
func runAdapted(t *testing.T, config string, args ...string) (code int, stderr string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(config, "DIR", dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	line := func(context.Context, inputs.Context) (inputs.Dataset, error) {
		t.Error("the input was opened")
		return nil, inputs.ErrEmpty
	}
	var out, log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code = Run(ctx, append(args, "--config", path), &out, &log, WithInput("line", estimator.InputFunc(line)))
	return code, log.String()
}

// TestAdaptNeedsAnEnd: an input that may never end is not read.
func TestAdaptNeedsAnEnd(t *testing.T) {
	for name, want := range map[string]string{
		"format: line":   "the input_fn line of train.input may repeat them",
		"format: glyphs": "train.input has none: set its count or take",
	} {
		config := strings.Replace(adaptedConfig, "format: line", name, 1)
		if name == "format: glyphs" {
			config = strings.Replace(config, "columns: [{name: age}, {name: y, role: label}], ", "", 1)
		}
		if code, stderr := runAdapted(t, config, "train"); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, %s", name, code, stderr)
		}
	}
}

// TestWhoAdapts: the chief reads the data and shares what it found, all others wait, and a task alone shares nothing.
func TestWhoAdapts(t *testing.T) {
	const chief, more = `"chief": ["a:1"]`, `"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]`
	for env, want := range map[string][2]bool{
		``: {false, false},
		`{"cluster": {` + chief + `}, "task": {"type": "chief", "index": 0}}`:     {true, false},
		`{"cluster": {` + chief + `}, "task": {"type": "evaluator", "index": 0}}`: {true, true},
		`{"cluster": {` + more + `}, "task": {"type": "evaluator", "index": 0}}`:  {true, true},
		`{"cluster": {` + more + `}, "task": {"type": "worker", "index": 0}}`:     {true, true},
		`{"task": {"type": "evaluator", "index": 0}}`:                             {true, true},
	} {
		rc, err := runconfig.FromTFConfig(env)
		if err != nil {
			t.Fatal(env, err)
		}
		cfg := config.Default()
		cfg.ModelDir = "run"
		if got := (&app{}).adaptation(&cfg, rc, 0); got.Share != want[0] || got.Follow != want[1] {
			t.Errorf("%s: share %t, follow %t, expected %v", env, got.Share, got.Follow, want)
		}
	}
}

// TestSameRows: tasks that read their input in different ways adapt to the same rows.
func TestSameRows(t *testing.T) {
	identity := func(change func(in *inputs.Spec)) string {
		cfg := config.Default()
		change(&cfg.Train.Input)
		return (&app{}).adaptation(&cfg, runconfig.RunConfig{}, 0).Identity
	}
	none := identity(func(*inputs.Spec) {})
	if got := identity(func(in *inputs.Spec) { in.BatchSize, in.Parallelism, in.Shuffle, in.Repeat = 7, 3, 100, true }); got != none {
		t.Errorf("another way of reading: %s, expected %s", got, none)
	}
	if identity(func(in *inputs.Spec) { in.Files = []string{"other"} }) == none {
		t.Error("other files: the same")
	}
}

// appOf is an app without user models or inputs.
func appOf(t *testing.T) *app {
	t.Helper()
	return &app{name: "goestimator", models: registry.New[estimator.ModelFn]("model", nil), inputs: registry.New[estimator.InputFn]("input", nil),
		stdout: io.Discard, stderr: &console{out: io.Discard}, log: slog.New(slog.DiscardHandler)}
}

// adaptedOf returns the rows that columns are adapted to, and what they took.
func adaptedOf(t *testing.T, in inputs.Spec, rows int64, specs []feature.Spec) (feature.Adapted, inputs.Dataset) {
	t.Helper()
	cfg := config.Default()
	cfg.Train.Input, cfg.FeatureColumns = in, specs
	ds, err := appOf(t).adaptation(&cfg, runconfig.RunConfig{}, rows).Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := feature.Adapt(t.Context(), specs, ds)
	if err != nil {
		t.Fatal(err)
	}
	return got, ds
}

// TestAdaptedRows: nulls become NaN, which missing fills in and the mean leaves out; other columns are not kept in memory; a dry run
// reads few rows.
func TestAdaptedRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	text := `{"age": 20, "name": "a", "y": 0}` + "\n" + `{"age": null, "name": "b", "y": 1}` + "\n" + `{"age": 40, "name": "c", "y": 1}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	in := inputs.DefaultSpec()
	in.Format, in.Files = "jsonl", []string{path}
	in.Columns = []inputs.ColumnSpec{{Name: "age", Default: math.NaN()}, {Name: "name", DType: "string"}, {Name: "y", Role: inputs.Label}}
	specs := []feature.Spec{{Type: "numeric", Key: "age", Missing: "mean"}}
	got, ds := adaptedOf(t, in, 0, specs)
	if d := got.Columns[0].Filled.Defaults; len(d) != 1 || d[0] != 30 || got.Columns[0].Missing != 1 || got.Rows != 3 {
		t.Errorf("got %+v, expected the mean 30 of 3 rows, one missing", got)
	}
	if c := ds.Schema().Columns(); len(c) != 1 || c[0].Name != "age" {
		t.Errorf("columns %v are read, expected age", c)
	}
	if got, _ := adaptedOf(t, in, 2, specs); got.Rows != 2 {
		t.Errorf("a dry run: %d rows, expected 2", got.Rows)
	}
}

// TestModelsWithoutColumns: a model that reads no columns does not have them adapted.
func TestModelsWithoutColumns(t *testing.T) {
	for name, want := range map[string]string{"own": "", "mlp": "reads none"} {
		a := appOf(t)
		if err := WithModel("own", estimator.ModelFunc(fit))(a); err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		cfg.ModelDir, cfg.Model.Name = t.TempDir(), name
		cfg.FeatureColumns = []feature.Spec{{Type: "vocabulary_file", Key: "x", File: "nowhere"}, {Type: "numeric", Key: "age", Normalize: feature.NormalizeSpec{Adapt: true}}}
		_, err := a.newJob(t.Context(), &cfg, columnSource{})
		if err != nil && want == "" || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
