package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// line is y = 2x + 1 as an input_fn.
func line(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	var x, y []float32
	for i := range 64 {
		x = append(x, float32(i)/64)
		y = append(y, 2*float32(i)/64+1)
	}
	ds, err := inputs.Slices(ic.Allocator, inputs.Slice("x", inputs.Feature, x, 1), inputs.Slice("y", inputs.Label, y, 1))
	if err != nil {
		return nil, err
	}
	if ic.Mode == inputs.Train {
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(16, false)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(16, false)), nil
}

// fit is a dense layer with a regression head as a model_fn.
func fit(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	head := heads.Regression(1)
	rate, _ := mc.Params().Float("rate", 0.1)
	opt, err := optimizers.New("sgd", map[string]any{"learning_rate": rate})
	if err != nil {
		return nil, err
	}
	out := layers.Dense(mc, features.Dense("x"), 1, layers.Weights{})
	return head.Spec(mc, heads.Inputs{Features: features, Labels: labels, Logits: out, Optimizer: opt})
}

// A user's model_fn and input_fn have every command.
func TestUserModel(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := "model_dir: " + filepath.Join(dir, "run") + `
seed: 1
model: {name: fit, params: {rate: 0.5}}
train: {input: {format: line}, max_steps: 200}
eval: {input: {format: line}}
`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		args = append(args, "--config", config)
		code := Run(context.Background(), args, &stdout, &stderr, WithModel("fit", estimator.ModelFunc(fit)), WithInput("line", estimator.InputFunc(line)))
		if code != 0 {
			t.Fatalf("%v: exit code %d:\n%s", args, code, stderr.String())
		}
		return strings.Split(strings.TrimSpace(stdout.String()), "\n")
	}
	var res jsonSummary
	if err := json.Unmarshal([]byte(run("train", "--json")[0]), &res); err != nil {
		t.Fatal(err)
	}
	if loss, ok := res.Loss.(float64); res.GlobalStep == nil || *res.GlobalStep != 200 || !ok || loss > 0.01 {
		t.Errorf("train: got %+v, expected step 200 and a loss below 0.01", res)
	}
	if lines := run("predict"); len(lines) != 64 {
		t.Errorf("predict: got %d lines, expected 64", len(lines))
	}
	run("evaluate")
	run("inspect", "model")
	run("inspect", "data")
}

// TestRegisteredOptimizer: the config's optimizer trains a registered model without its own, and is refused beside one.
func TestRegisteredOptimizer(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := "model: {name: fit}\ntrain: {input: {format: line}, max_steps: 3}\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	without, own := heads.Regression(1).Of(networks.Linear()), estimator.ModelFn(estimator.ModelFunc(fit))
	for _, c := range []struct {
		fn   estimator.ModelFn
		sets []string
		want string // of standard error
	}{
		{without, nil, "learning_rate=0.001"},
		{without, []string{"--set", "optimizer={name: sgd, learning_rate: 0.5}"}, "learning_rate=0.5"},
		{own, nil, "learning_rate=0.1"},
		{own, []string{"--set", "optimizer.name=sgd"}, "the model_fn has an optimizer of its own"},
	} {
		var stderr bytes.Buffer
		args := append([]string{"train", "--config", config, "--set", "model_dir=" + t.TempDir()}, c.sets...)
		Run(t.Context(), args, &bytes.Buffer{}, &stderr, WithModel("fit", c.fn), WithInput("line", estimator.InputFunc(line)))
		if !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: got %s\nexpected %q", c.sets, stderr.String(), c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Option{
		"model without a name": WithModel("", estimator.ModelFunc(fit)),
		"no input_fn":          WithInput("line", nil),
		"input without a name": WithInput("", estimator.InputFunc(line)),
	} {
		var stderr bytes.Buffer
		if code := Run(context.Background(), nil, &bytes.Buffer{}, &stderr, o); code != exitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", name, code, stderr.String())
		}
	}
}

func TestDoctor(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(context.Background(), []string{"doctor", "--json"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var facts map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &facts); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go", "cores", "simd", "matmul_gflops", "gpu", "openblas", "tf_config_role"} {
		if facts[name] == nil && name != "gpu" && name != "openblas" {
			t.Errorf("doctor does not know %s: %s", name, stdout.String())
		}
	}
	stdout.Reset()
	if code := Run(context.Background(), []string{"doctor"}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "simd") {
		t.Errorf("exit code %d: %s", code, stdout.String())
	}
}

// A model_dir that cannot be written is refused before any work is done.
func TestReadOnlyModelDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("skipped: root may write everywhere")
	}
	if err := checkWritable(dir); err == nil || !strings.Contains(err.Error(), "--set model_dir=DIR") {
		t.Errorf("got %v, expected an error that says what to do", err)
	}
}

// A signal during a command that has nothing to save is reported as a signal, whatever
// work it interrupts.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := "model_dir: " + filepath.Join(dir, "run") + `
model: {name: fit}
train: {input: {format: line}, max_steps: 2}
eval: {input: {format: line}}
`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	input := func(c context.Context, ic inputs.Context) (inputs.Dataset, error) {
		if ic.Mode == inputs.Predict {
			cancel(errors.New("signal: interrupt"))
		}
		return line(c, ic)
	}
	run := func(args ...string) (int, string) {
		var stderr bytes.Buffer
		code := Run(ctx, append(args, "--config", config), &bytes.Buffer{}, &stderr, WithModel("fit", estimator.ModelFunc(fit)), WithInput("line", estimator.InputFunc(input)))
		return code, stderr.String()
	}
	if code, text := run("train"); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if code, text := run("predict"); code != exitInterrupted || text != "goestimator: interrupted: signal: interrupt\n" {
		t.Errorf("exit code %d: %q", code, text)
	}
}
