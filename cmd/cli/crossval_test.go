package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// foldedConfig has classes, and group and time columns that divide the rows in other ways.
const foldedConfig = `
model_dir: run
seed: 7
model: {name: mlp, params: {classes: 2, hidden_units: [2]}}
train:
  input:
    format: csv
    files: rows.csv
    header: true
    columns: [{name: a}, {name: who, role: ignore}, {name: day, role: ignore}, {name: y, role: label, vocabulary: ["no", "yes"]}]
    split: {folds: 2, part: train}
    batch_size: 4
    shuffle: 20
    repeat: true
  max_steps: 5
eval: {input: {format: csv, files: none.csv, columns: [{name: y, role: label}]}}
predict: {columns: [who], keys: [classes]}
`

// crossvalIn runs the command in a new folder of 20 rows. Each fold is a process of this binary.
func crossvalIn(t *testing.T) (run func(args ...string) (code int, out, errs string)) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv(asBinary, "1")
	rows := "a,who,day,y\n"
	for i := range 20 {
		rows += fmt.Sprintf("%d,p%d,2024-01-%02d,%s\n", i, i%4, 20-i, []string{"no", "yes"}[i/17])
	}
	for name, text := range map[string]string{"c.yaml": foldedConfig, "rows.csv": rows} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Run(context.Background(), append([]string{"crossval", "--config", "c.yaml"}, args...), &out, &errs)
		return code, out.String(), errs.String()
	}
}

// TestCrossval: metrics of each fold, their mean, predictions in the order of the data, and a second run that trains nothing.
func TestCrossval(t *testing.T) {
	run := crossvalIn(t)
	code, out, errs := run("--folds", "4", "--parallel", "2", "--json", "--predictions", "oof.csv")
	var sum crossvalSummary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != 0 {
		t.Fatalf("code %d, %v: %s%s", code, err, out, errs)
	}
	if len(sum.Folds) != 4 || sum.Predictions != 20 || sum.By != "stratified" {
		t.Errorf("got %+v", sum)
	}
	if !strings.Contains(errs, "yes (3)") {
		t.Errorf("no warning of a class with 3 rows: %s", errs)
	}
	mean := 0.0
	for _, f := range sum.Folds {
		mean += f.Metrics["loss"] / 4
	}
	if math.Abs(mean-sum.Mean["loss"]) > 1e-9 || sum.Deviation["loss"] <= 0 {
		t.Errorf("mean %v, deviation %v, want %v", sum.Mean["loss"], sum.Deviation["loss"], mean)
	}
	text, err := os.ReadFile("oof.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 21 || strings.Join(rows[0], ",") != "row,fold,label,who,classes" {
		t.Fatalf("%v: %s", err, text)
	}
	held := map[string]int{}
	for i, row := range rows[1:] {
		if row[0] != fmt.Sprint(i) || row[2] != []string{"no", "yes"}[i/17] || row[3] != fmt.Sprintf("p%d", i%4) {
			t.Errorf("row %d is %v", i, row)
		}
		held[row[1]]++
	}
	for _, f := range sum.Folds {
		if held[fmt.Sprint(f.Fold)] != f.Rows {
			t.Errorf("fold %d has %d predictions and %d rows", f.Fold, held[fmt.Sprint(f.Fold)], f.Rows)
		}
	}
	code, out, errs = run("--folds", "4")
	if code != 0 || !strings.Contains(errs, "goes on") || strings.Contains(errs, "trial number=") || !strings.Contains(out, "deviation") || !strings.Contains(out, "folds=4\n") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	if code, _, errs = run("--folds", "3"); code != exitUsage || !strings.Contains(errs, "other folds") {
		t.Errorf("other folds: code %d, %s", code, errs)
	}
}

// TestCrossvalBy divides by columns that the model does not read, and by time.
func TestCrossvalBy(t *testing.T) {
	run := crossvalIn(t)
	for by, first := range map[string]string{"group:who": "0", "time": "5", "time:day": "0"} {
		code, out, errs := run("--folds", "3", "--by", by, "--dir", "d_"+strings.Replace(by, ":", "_", 1), "--predictions", "oof.jsonl")
		if code != 0 || !strings.Contains(out, "folds=3\n") {
			t.Errorf("%s: code %d, %s%s", by, code, out, errs)
			continue
		}
		text, err := os.ReadFile("oof.jsonl")
		if err != nil || !strings.Contains(strings.SplitN(string(text), "\n", 2)[0], `"row":`+first+`,`) {
			t.Errorf("%s: %v, %.200s", by, err, text)
		}
	}
}

// TestCrossvalMistakes: mistakes are reported before anything trains.
func TestCrossvalMistakes(t *testing.T) {
	run := crossvalIn(t)
	for want, args := range map[string][]string{
		"column has 4 groups, expected at least":   {"--by", "group:who"},
		"expected stratified, plain, group:COLUMN": {"--by", "luck"},
		"name of a column behind the colon":        {"--by", "group:"},
		"expected 2 to 1024, got 1":                {"--folds", "1"},
		"do not make 21 blocks":                    {"--folds", "20", "--by", "time"},
		"has none of the 20 rows":                  {"--folds", "21", "--by", "plain"},
		"--predictions oof.txt: expected":          {"--predictions", "oof.txt"},
		"has skip or take":                         {"--set", "train.input.take=4"},
		"(dedupe) makes other rows":                {"--predictions", "oof.csv", "--set", "train.input.transforms=[{kind: dedupe}]"},
		"no model_dir and no --dir":                {"--set", "model_dir="},
	} {
		if code, out, errs := run(args...); code != exitUsage || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%v: code %d, %s%s", args, code, out, errs)
		}
	}
	if code, _, errs := run("--by", "group:whom"); code != 1 || !strings.Contains(errs, `unknown column "whom"`) {
		t.Errorf("code %d, %s", code, errs)
	}
	if _, err := os.Stat("run_crossval"); err == nil {
		t.Error("a folder was made")
	}
}

// TestCrossvalFails if a fold fails, and trains that fold again.
func TestCrossvalFails(t *testing.T) {
	run := crossvalIn(t)
	code, _, errs := run("--folds", "2", "--set", "optimizer.learning_rate=1e38", "--set", "optimizer.name=sgd")
	if code != 1 || !strings.Contains(errs, "failed") {
		t.Errorf("code %d, %s", code, errs)
	}
}
