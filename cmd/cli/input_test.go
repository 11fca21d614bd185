package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// TestRegisteredInputReadsItsSection: a registered input_fn gets the keys of the section that names it.
func TestRegisteredInputReadsItsSection(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	text := `data_dir: ` + dir + `
model: {name: fit}
train: {input: {format: line, params: {slope: 2.5, of: {rows: 64}}, files: rows.bin, batch_size: 16, shuffle: 8}, max_steps: 1}
eval: {input: {format: line}}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := map[inputs.Mode]inputs.Context{}
	input := func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		seen[ic.Mode] = ic
		return line(ctx, ic)
	}
	var stderr bytes.Buffer
	if code := Run(context.Background(), []string{"train", "--config", path, "--set", "train.input.params.slope=3"}, &bytes.Buffer{}, &stderr,
		WithModel("fit", estimator.ModelFunc(fit)), WithInput("line", estimator.InputFunc(input))); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, stderr.String())
	}
	train, eval := seen[inputs.Train], seen[inputs.Eval]
	if train.Spec == nil || eval.Spec == nil {
		t.Fatalf("no section: train %v, eval %v", train.Spec, eval.Spec)
	}
	of, _ := train.Spec.Params["of"].(map[string]any)
	if train.GlobalBatch != 16 || train.Spec.BatchSize != 16 || train.Spec.Shuffle != 8 || train.Spec.Params["slope"] != 3 || of["rows"] != 64 {
		t.Errorf("train: batch %d, section %+v", train.GlobalBatch, train.Spec)
	}
	if len(train.Spec.Files) != 1 || train.Spec.Files[0] != filepath.Join(dir, "rows.bin") {
		t.Errorf("files %v, want them below data_dir", train.Spec.Files)
	}
	if eval.GlobalBatch != 128 || len(eval.Spec.Params) != 0 {
		t.Errorf("eval: batch %d, section %+v", eval.GlobalBatch, eval.Spec)
	}
}
