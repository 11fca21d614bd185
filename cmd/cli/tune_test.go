package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

func tuneIn(t *testing.T) func(args ...string) (code int, out, errs string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"c.yaml": sweptConfig, "rows.csv": "0,1\n1,3\n2,5\n3,7\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Run(context.Background(), append([]string{"tune"}, args...), &out, &errs)
		return code, out.String(), errs.String()
	}
}

// TestTuneRate: the suggested rate lies between one that changes nothing and one that diverges; model_dir is not created.
func TestTuneRate(t *testing.T) {
	run := tuneIn(t)
	code, out, errs := run("lr", "--config", "c.yaml", "--json", "--html", "rate.html", "--set", "optimizer.name=sgd")
	var sum rateSummary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != 0 || sum.Suggestion == nil {
		t.Fatalf("code %d, %v, %s%s", code, err, out, errs)
	}
	last := sum.Points[len(sum.Points)-1].Rate
	if *sum.Suggestion < 1e-4 || *sum.Suggestion > 0.5 || !sum.Stopped || last > 10 || sum.Points[0].Rate < 0.99e-6 || sum.Points[0].Rate > 1.3e-6 {
		t.Errorf("suggests %v, stopped %v, rates %v to %v", *sum.Suggestion, sum.Stopped, sum.Points[0].Rate, last)
	}
	page, err := os.ReadFile("rate.html")
	if err != nil || !strings.Contains(string(page), "Loss by learning rate") {
		t.Errorf("the page: %v", err)
	}
	if _, err := os.Stat("run"); err == nil {
		t.Error("model_dir was made")
	}
	code, out, _ = run("lr", "--config", "c.yaml", "--min", "1e-30", "--max", "1e-29")
	if code != 1 || strings.Contains(out, "learning_rate=") {
		t.Errorf("rates that do nothing: code %d, %s", code, out)
	}
}

func TestTuneBatch(t *testing.T) {
	run := tuneIn(t)
	code, out, errs := run("batch", "--config", "c.yaml", "--max", "16", "--steps", "2", "--json", "--html", "batch.html")
	var sum batchSummary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != 0 || len(sum.Trials) != 2 || sum.Suggestion < 8 || sum.Trials[1].Size != 16 || sum.Trials[0].PerSecond <= 0 {
		t.Fatalf("code %d, %v, %s%s", code, err, out, errs)
	}
	page, err := os.ReadFile("batch.html")
	if text := string(page); err != nil || !strings.Contains(text, "Examples per second by batch size") || !strings.Contains(text, fmt.Sprintf("batch_size: %d. No larger size was tried: --max 16", sum.Suggestion)) ||
		!strings.Contains(text, fmt.Sprintf("[16,%v]", sum.Trials[1].PerSecond)) {
		t.Errorf("the page has %d bytes, %v", len(page), err)
	}
	if _, err := os.Stat("run"); err == nil {
		t.Error("model_dir was made")
	}
}

func TestTuneMistakes(t *testing.T) {
	run := tuneIn(t)
	for want, args := range map[string][]string{
		"the first below the second":     {"lr", "--config", "c.yaml", "--min", "1", "--max", "0.1"},
		"expected 20 to":                 {"lr", "--config", "c.yaml", "--steps", "2"},
		"model.params.optimizer: set it": {"lr", "--config", "c.yaml", "--set", "model.name=linear_regressor"},
		"the first not above the second": {"batch", "--config", "c.yaml", "--min", "64", "--max", "8"},
		"the folder nowhere does not":    {"batch", "--config", "c.yaml", "--html", "nowhere/b.html"},
		`unknown command "tune speed"`:   {"speed"},
		"--steps: expected 1 to":         {"batch", "--config", "c.yaml", "--steps", "0"},
		"buckets has sizes of its own":   {"batch", "--config", "c.yaml", "--set", "train.input.buckets={column: a, boundaries: [2], batch_sizes: [2, 1]}"},
	} {
		if code, out, errs := run(args...); code != exitUsage || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%v: code %d, %s%s", args, code, out, errs)
		}
	}
}
