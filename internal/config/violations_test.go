package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/runconfig"
)

// TestViolationsOnce: each mistake is reported once, where it was written, without its mere consequences.
func TestViolationsOnce(t *testing.T) {
	const start = `model: {name: linear}
train:
  input: &input
    format: csv
    files: t.csv
`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"columns shared by an alias": {start + `    columns: &columns
      - {name: a, role: lable}
      - {name: b, dtype: float}
eval: {input: {format: csv, files: e.csv, columns: *columns}}
`, []string{
			`train.input.columns[0].role: got "lable", expected one of feature, label, weight, ignore (t.yaml:7)`,
			`train.input.columns[1].dtype: got "float", expected one of float32, float64, int64, string (t.yaml:8)`}},
		"an input shared by an alias": {start + `    columns: [{name: a}]
    batch_size: 0
eval: {input: *input}
predict: {input: *input}
`, []string{`train.input.batch_size: got 0, expected 1 to 16777216 (t.yaml:7)`}},
		"an input merged into another": {start + `    columns: [{name: a, role: lable}]
    batch_size: 0
eval: {input: {<<: *input, repeat: 3}}
predict: {input: {<<: [{files: p.csv}, *input]}}
`, []string{
			`eval.input.repeat: got 3, expected true or false (t.yaml:8)`,
			`train.input.batch_size: got 0, expected 1 to 16777216 (t.yaml:7)`,
			`train.input.columns[0].role: got "lable", expected one of feature, label, weight, ignore (t.yaml:6)`}},
		"a hyper-parameter of other rules, not also that it is out of bounds": {`optimizer: {name: adam, momentum: 3}
`, []string{`optimizer.momentum: got 3, which the rule adam does not have (t.yaml:1)`}},
		"a column of another type, not also that there are none": {start + `    columns:
      - {name: [a]}
`, []string{`train.input.columns[0].name: got [a], expected text; put it in quotes (t.yaml:7)`}},
		"a misspelt key, not also that it is missing": {start + `    colums: [{name: a}]
`, []string{`train.input.colums: got [map[name:a]], which is not a known key; did you mean train.input.columns? (t.yaml:6)`}},
		"a misspelt metric": {`train: {early_stopping: {metrik: loss, threshold: 1}}
`, []string{`train.early_stopping.metrik: got "loss", which is not a known key; did you mean train.early_stopping.metric? (t.yaml:1)`}},
		"text for a number": {`train: {input: {format: glyphs, batch_size: many}, max_steps: few}
`, []string{
			`train.input.batch_size: got "many", expected an integer (t.yaml:1)`,
			`train.max_steps: got "few", expected an integer (t.yaml:1)`}},
		"words that are none": {start + `    columns: [{name: a, vocabulary: [0.5, 1.5, yes]}]
`, []string{`train.input.columns[0].vocabulary: got [0.5 1.5], expected text; put each of these in quotes (t.yaml:6)`}},
		"a word that is none": {start + `    columns: [{name: a, vocabulary: [x, 1.5]}]
`, []string{`train.input.columns[0].vocabulary[1]: got 1.5, expected text; put it in quotes (t.yaml:6)`}},
		"equal mistakes in different places": {`train: {input: {format: glyphs, batch_size: 0}, max_steps: 1}
eval: {input: {format: glyphs, count: 5, batch_size: 0}}
`, []string{
			`train.input.batch_size: got 0, expected 1 to 16777216 (t.yaml:1)`,
			`eval.input.batch_size: got 0, expected 1 to 16777216 (t.yaml:2)`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("t.yaml", []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Load(LoadOptions{Path: "t.yaml", Env: []string{}})
			var found *runconfig.ViolationsError
			if !errors.As(err, &found) {
				t.Fatalf("got %v, expected violations", err)
			}
			var got []string
			for _, v := range found.Violations {
				got = append(got, v.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestVocabularyOfNumbers: whole numbers are words as they are written.
func TestVocabularyOfNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	const numbers = "[3, -5, 010, 0x1F, 1_000, 08x, 12345678901234567890]"
	want := []string{"3", "-5", "010", "0x1F", "1_000", "08x", "12345678901234567890"}
	text := `train: {input: &input {format: csv, files: t.csv, columns: [{name: a, vocabulary: ` + numbers + `}]}}
eval: {input: {<<: *input, batch_size: 1}}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(LoadOptions{Path: path, Env: []string{"GOESTIMATOR_PREDICT_INPUT_MISSING_VALUES=" + numbers},
		Sets: []string{"predict.input.format=csv", "predict.input.files=p.csv", "predict.input.columns=[{name: a, vocabulary: " + numbers + "}]"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range [][]string{cfg.Train.Input.Columns[0].Vocabulary, cfg.Eval.Input.Columns[0].Vocabulary,
		cfg.Predict.Input.Columns[0].Vocabulary, cfg.Predict.Input.MissingValues} {
		if !slices.Equal(got, want) {
			t.Errorf("%d: got %q, expected %q", i, got, want)
		}
	}
}

// TestAliasesWithinAliases: an alias that holds itself, and aliases of aliases, end.
func TestAliasesWithinAliases(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		one := "*a" + string(rune('0'+i))
		bomb.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat(one+", ", 9) + one + "]\n")
	}
	for _, text := range []string{"a: &a {b: *a}\n", "a: &a [*a, *a]\n", bomb.String()} {
		if lines := scanLines([]byte(text)).lines; len(lines) > 2*maxLines {
			t.Errorf("%d lines of %q", len(lines), text[:20])
		}
	}
}
