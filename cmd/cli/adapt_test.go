package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
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

// TestAdaptNeedsAnEnd: an input that may go on for ever is not read to its end.
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

// TestWhoAdapts: the chief reads the data, all others wait, and a task alone tells nobody.
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
		if got := (&app{}).adaptation(&cfg, rc); got.Share != want[0] || got.Follow != want[1] {
			t.Errorf("%s: share %t, follow %t, expected %v", env, got.Share, got.Follow, want)
		}
	}
}

// TestSameRows: tasks that read in other ways adapt to the same rows.
func TestSameRows(t *testing.T) {
	identity := func(change func(in *inputs.Spec)) string {
		cfg := config.Default()
		change(&cfg.Train.Input)
		return (&app{}).adaptation(&cfg, runconfig.RunConfig{}).Identity
	}
	none := identity(func(*inputs.Spec) {})
	if got := identity(func(in *inputs.Spec) { in.BatchSize, in.Parallelism, in.Shuffle, in.Repeat = 7, 3, 100, true }); got != none {
		t.Errorf("another way of reading: %s, expected %s", got, none)
	}
	if identity(func(in *inputs.Spec) { in.Files = []string{"other"} }) == none {
		t.Error("other files: the same")
	}
}
