package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// treesConfig trains on all rows at once, like the configs that init writes.
const treesConfig = `
model_dir: run
seed: 7
feature_columns: [{name: a, type: numeric, key: a}]
model: {name: boosted_trees_classifier, params: {feature_columns: [a], n_trees: 2, max_depth: 2, train_in_memory: true, n_batches_per_layer: 1}}
run: {log_step_count_steps: 0}
train:
  input:
    format: csv
    files: rows.csv
    header: true
    columns: [{name: a}, {name: who, role: ignore}, {name: day, role: ignore}, {name: y, role: label, vocabulary: ["no", "yes"]}]
    split: {folds: 10, held_out: 0, part: train}
    take: 18
    batch_size: 18
    repeat: true
  max_steps: 100
`

// TestCrossvalOfTrees: each fold has one batch of all its rows: of all other folds, or of all earlier blocks. The models are exported as one.
func TestCrossvalOfTrees(t *testing.T) {
	crossvalIn(t)
	if err := os.WriteFile("c.yaml", []byte(treesConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]string{"plain": "take: 15\n", "time": "take: 12\n"} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), []string{"crossval", "--config", "c.yaml", "--folds", "4", "--by", by, "--dir", by, "--json", "--export", "models"}, &out, &errs)
		var sum crossvalSummary
		if err := json.Unmarshal(out.Bytes(), &sum); err != nil || code != 0 || len(sum.Folds) != 4 || sum.Export == "" || len(sum.OutOfFold) == 0 {
			t.Fatalf("%s: code %d, %v: %s%s", by, code, err, out.String(), errs.String())
		}
		fold, err := os.ReadFile(by + "/configs/fold_2.yaml")
		if err != nil || !strings.Contains(string(fold), want) {
			t.Errorf("%s: %v, expected %q in\n%s", by, err, want, fold)
		}
	}
}

// TestCrossvalOfTreesCounts: rows that on_error leaves out belong to no fold, and steps that change the number of rows are refused.
func TestCrossvalOfTreesCounts(t *testing.T) {
	crossvalIn(t)
	rows, err := os.ReadFile("rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(rows), "\n")
	_, rest, _ := strings.Cut(lines[2], ",")
	lines[2] = "bad," + rest
	skips := strings.Replace(treesConfig, "    repeat: true\n", "    repeat: true\n    on_error: skip\n", 1)
	for name, text := range map[string]string{"rows.csv": strings.Join(lines, ""), "c.yaml": skips,
		"filtered.yaml": strings.Replace(treesConfig, "    repeat: true\n", "    repeat: true\n    transforms: [{kind: filter, expression: a > 0}]\n", 1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"crossval", "--config", "c.yaml", "--folds", "4", "--by", "plain", "--dir", "skips", "--json"}, &out, &errs); code != 0 {
		t.Errorf("code %d: %s%s", code, out.String(), errs.String())
	}
	fewer := 0
	for k := range 4 {
		fold, err := os.ReadFile(fmt.Sprintf("skips/configs/fold_%d.yaml", k))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(fold), "take: 14\n") {
			fewer++
		}
	}
	if fewer != 3 {
		t.Errorf("%d folds train on 14 rows, expected 3: one row cannot be read", fewer)
	}
	out.Reset()
	errs.Reset()
	if code := Run(t.Context(), []string{"crossval", "--config", "filtered.yaml", "--folds", "4", "--by", "plain", "--dir", "filtered"}, &out, &errs); code == 0 || !strings.Contains(errs.String(), "makes other rows") {
		t.Errorf("code %d: %s%s", code, out.String(), errs.String())
	}
}
