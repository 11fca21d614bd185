package interop_test

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	initTables  = flag.String("init-tables", "", "the tables of TestInitBesideTrees, their names with commas; empty: all")
	initReport  = flag.String("init-report", "", "write the table of TestInitBesideTrees to this file")
	initFolds   = flag.Int("init-folds", 5, "how many of the five folds TestInitBesideTrees takes")
	initLongest = 120 * time.Second // for a fold, or the peer's time if that is longer
)

// sklearn returns an interpreter with scikit-learn and pandas, or skips.
func sklearn(t *testing.T) python {
	t.Helper()
	path := os.Getenv("GOESTIMATOR_SKLEARN_PYTHON")
	if path == "" {
		t.Skip("skipped: GOESTIMATOR_SKLEARN_PYTHON names no interpreter with scikit-learn and pandas")
	}
	if out, err := exec.CommandContext(t.Context(), path, "-c", "import sklearn, pandas").CombinedOutput(); err != nil {
		t.Skipf("skipped: %s has no scikit-learn with pandas: %v: %s", path, err, out)
	}
	return python{path}
}

// fold holds out a fifth of the rows for tests.
type fold struct{ train, test string }

// scores are one side's scores on the folds, and the seconds it took.
type scores struct {
	Scores  []float64 `json:"scores"`
	Seconds []float64 `json:"seconds"`
}

// TestInitBesideTrees runs init, train and predict, without editing the config, on five folds of each table, and
// scikit-learn's HistGradientBoosting on the same rows: mean accuracy is within one point, mean RMSE within one percent.
func TestInitBesideTrees(t *testing.T) {
	if !longForm() {
		t.Skip("skipped: trains many models; set GOESTIMATOR_ACCEPT=1")
	}
	py := sklearn(t)
	var report strings.Builder
	report.WriteString("| table | measure | init, then train | seconds | HistGradientBoosting | seconds | LightGBM | seconds |\n|---|---|---|---|---|---|---|---|\n")
	for _, table := range initCases(t) {
		if *initTables != "" && !strings.Contains(","+*initTables+",", ","+table.name+",") {
			continue
		}
		t.Run(table.name, func(t *testing.T) {
			folds := table.folds(t)[:*initFolds]
			got, peers := table.ours(t, folds), table.peers(t, py, folds)
			fmt.Fprintf(&report, "| %s | %s ", table.name, table.measure())
			for _, s := range []scores{got, peers["HistGradientBoosting"], peers["LightGBM"]} {
				fmt.Fprintf(&report, "| %s | %s ", table.text(s.Scores), seconds(s.Seconds))
			}
			report.WriteString("|\n")
			table.compare(t, got, peers["HistGradientBoosting"])
		})
	}
	t.Logf("\n%s", report.String())
	if *initReport != "" {
		write(t, *initReport, []byte(report.String()))
	}
}

// folds writes training and test rows for five folds.
func (c initCase) folds(t *testing.T) []fold {
	dir, out := t.TempDir(), make([]fold, 5)
	for k := range out {
		var train, test [][]string
		for i, row := range c.rows {
			if i%5 == k {
				test = append(test, row)
			} else {
				train = append(train, row)
			}
		}
		out[k] = fold{filepath.Join(dir, fmt.Sprintf("train%d.csv", k)), filepath.Join(dir, fmt.Sprintf("test%d.csv", k))}
		c.write(t, out[k].train, train)
		c.write(t, out[k].test, test)
	}
	return out
}

func (c initCase) write(t *testing.T, path string, rows [][]string) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = c.delimiter()
	if err := w.WriteAll(append([][]string{c.header}, rows...)); err != nil {
		t.Fatal(err)
	}
	write(t, path, []byte(b.String()))
}

// ours returns the scores of init followed by train.
func (c initCase) ours(t *testing.T, folds []fold) (out scores) {
	for _, f := range folds {
		dir, began := t.TempDir(), time.Now()
		config, predictions := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "predictions.csv")
		chosen := goestimator(t, "init", f.train, "--label", c.label, "--out", config, "--model-dir", filepath.Join(dir, "model"))
		goestimator(t, "train", "--config", config)
		took := time.Since(began)
		goestimator(t, "predict", "--config", config, "--input", f.test, "--output", predictions)
		out.Scores = append(out.Scores, c.score(t, f.test, predictions))
		out.Seconds = append(out.Seconds, took.Seconds())
		t.Logf("%.5g in %.0f s\n%s", out.Scores[len(out.Scores)-1], took.Seconds(), chosen)
	}
	return out
}

// score compares the predictions in a file with its labels.
func (c initCase) score(t *testing.T, test, predictions string) float64 {
	want := columnOf(t, test, c.label, c.delimiter())
	name := "classes"
	if c.regression {
		name = "predictions"
	}
	got := columnOf(t, predictions, name, ',')
	if len(got) != len(want) {
		t.Fatalf("%d predictions of %d rows", len(got), len(want))
	}
	sum := 0.0
	for i := range want {
		if !c.regression {
			if got[i] == want[i] {
				sum++
			}
			continue
		}
		d := parsed(t, got[i]) - parsed(t, want[i])
		sum += d * d
	}
	mean := sum / float64(len(want))
	if c.regression {
		return math.Sqrt(mean)
	}
	return mean
}

// columnOf is a column of a CSV file; for values with several numbers, the first.
func columnOf(t *testing.T, path, name string, delimiter rune) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = delimiter
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range rows[0] {
		if n == name || n == name+"_0" {
			for _, row := range rows[1:] {
				out = append(out, strings.TrimSpace(row[i]))
			}
			return out
		}
	}
	t.Fatalf("%s has no column %s: %v", path, name, rows[0])
	return nil
}

func parsed(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// peers returns the scores of HistGradientBoosting and, if installed, of LightGBM.
func (c initCase) peers(t *testing.T, py python, folds []fold) (out map[string]scores) {
	args := []string{c.label, map[bool]string{true: "regression", false: "classification"}[c.regression], string(c.delimiter())}
	for _, f := range folds {
		args = append(args, f.train, f.test)
	}
	if err := json.Unmarshal([]byte(py.run(t, "table_peers.py", args...)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (c initCase) compare(t *testing.T, got, peer scores) {
	ours, _ := meanAndStd(got.Scores)
	theirs, _ := meanAndStd(peer.Scores)
	if c.regression && ours > 1.01*theirs || !c.regression && ours < theirs-0.01 {
		t.Errorf("mean %s %s, HistGradientBoosting's is %s", c.measure(), c.text(got.Scores), c.text(peer.Scores))
	}
	for i, s := range got.Seconds {
		if s > max(initLongest.Seconds(), peer.Seconds[i]) {
			t.Errorf("fold %d took %.0f s, expected at most %.0f", i, s, max(initLongest.Seconds(), peer.Seconds[i]))
		}
	}
}

func (c initCase) measure() string {
	if c.regression {
		return "RMSE"
	}
	return "accuracy"
}

// text formats the mean and the standard deviation.
func (c initCase) text(scores []float64) string {
	if len(scores) == 0 {
		return "not installed"
	}
	mean, std := meanAndStd(scores)
	if c.regression {
		return fmt.Sprintf("%.5g ± %.2g", mean, std)
	}
	return fmt.Sprintf("%.4f ± %.4f", mean, std)
}

func seconds(list []float64) string {
	if len(list) == 0 {
		return ""
	}
	mean, _ := meanAndStd(list)
	return fmt.Sprintf("%.1f", mean)
}

func meanAndStd(list []float64) (mean, std float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		std += (v - mean) * (v - mean) / float64(len(list))
	}
	return mean, math.Sqrt(std)
}
