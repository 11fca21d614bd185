package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// classifier writes data, and the config of a classifier without an eval section. It returns the config's path.
func classifier(t *testing.T, label string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"rows.csv": "1,2\n2,1\n3,0\n", "job.yaml": `
data_dir: ` + dir + `
model_dir: ` + filepath.Join(dir, "run") + `
seed: 1
model: {name: mlp, params: {classes: 3, hidden_units: [4]}}
train: {input: {format: csv, files: rows.csv, columns: [{name: x}, {name: y, role: label, ` + label + `}], batch_size: 3}, max_steps: 1}
`}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "job.yaml")
}

// TestLabelTypes: a label of the wrong type, detected while the model is built, is a mistake in the config.
func TestLabelTypes(t *testing.T) {
	for label, want := range map[string]string{"dtype: float32": "labels dtype should be integer", "dtype: string": "label y is text"} {
		var stderr bytes.Buffer
		code := Run(context.Background(), []string{"train", "--config", classifier(t, label)}, &bytes.Buffer{}, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", label, code, stderr.String())
		}
	}
}

// TestDryRunIsNoTask: --fast-dev-run ignores TF_CONFIG and does not act as the task.
func TestDryRunIsNoTask(t *testing.T) {
	for _, task := range []string{"ps", "worker", "chief", "evaluator"} {
		t.Setenv("TF_CONFIG", `{"cluster":{"chief":["localhost:1"],"ps":["localhost:2"],"worker":["localhost:3"]},"task":{"type":"`+task+`","index":0}}`)
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		code := Run(ctx, []string{"train", "--config", classifier(t, "dtype: int64"), "--set", "strategy={name: parameter_server, sync: true}", "--fast-dev-run"}, &stdout, &stderr)
		cancel()
		if code != exitDone || !strings.Contains(stdout.String(), "global_step=1\n") {
			t.Errorf("%s: exit code %d, %s%s", task, code, stdout.String(), stderr.String())
		}
	}
}

// TestParameterServerWithoutEvaluation: a ps task of a job without an eval section serves variables until it is stopped.
func TestParameterServerWithoutEvaluation(t *testing.T) {
	ports, err := freeport.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_CONFIG", `{"cluster":{"chief":["`+ports.Address(0)+`"],"ps":["`+ports.Address(1)+`"]},"task":{"type":"ps","index":0}}`)
	defer ports.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	serving := &waitFor{text: "serving variables", found: cancel}
	code := Run(ctx, []string{"train", "--config", classifier(t, "dtype: int64"), "--set", "strategy.name=parameter_server"}, &bytes.Buffer{}, serving)
	if text := serving.all.String(); !strings.Contains(text, serving.text) || strings.Contains(text, "has been called") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// waitFor calls found as soon as text has been written to it.
type waitFor struct {
	all   bytes.Buffer
	text  string
	found func()
}

func (w *waitFor) Write(b []byte) (int, error) {
	n, err := w.all.Write(b)
	if strings.Contains(w.all.String(), w.text) {
		w.found()
	}
	return n, err
}
