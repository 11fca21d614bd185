package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/google/go-cmp/cmp"
)

func TestProfileReport(t *testing.T) {
	first := hooks.NodeTime{Node: "a", Op: "MatMul", Count: 1, Total: time.Second, Flops: 1000, Bytes: 500}
	h := &opProfile{steps: 11, spent: 40 * time.Millisecond, skipped: map[string]hooks.NodeTime{"a": first, "once": {Count: 1, Total: time.Second}}}
	nodes := []hooks.NodeTime{
		{Node: "a", Op: "MatMul", Count: 11, Total: time.Second + 20*time.Millisecond, Flops: 1000 + 40e6, Bytes: 500 + 10e6},
		{Node: "once", Op: "Exp", Count: 1, Total: time.Second},
		{Node: "r", Op: "Relu", Count: 10, Total: 4 * time.Millisecond, Bytes: 8e6},
		{Node: "s", Op: "Relu", Count: 10, Total: 6 * time.Millisecond, Bytes: 2e6},
	}
	want := `profile: steps=10 ms/step=4.0000 in_ops=3.0000
op      nodes  calls  total ms  share %  ms/call  GFLOP/s  GB/s
MatMul      1     10    20.000     66.7   2.0000     2.00  0.50
Relu        2     20    10.000     33.3   0.5000           1.00
total       3     30    30.000    100.0   1.0000     1.33  0.67
`
	if diff := cmp.Diff(want, h.sums(nodes).String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// train --profile writes the trace of a step beside the checkpoints, and prints the table to standard error.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := "model_dir: " + filepath.Join(dir, "run") + "\nmodel: {name: fit}\ntrain: {input: {format: line}, max_steps: 12}\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), []string{"train", "--config", config, "--profile"}, &stdout, &stderr,
		WithModel("fit", estimator.ModelFunc(fit)), WithInput("line", estimator.InputFunc(line)))
	if code != 0 || !strings.Contains(stderr.String(), "profile: steps=11 ") || !strings.Contains(stderr.String(), "\nResourceApply") {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	b, err := os.ReadFile(filepath.Join(dir, "run", "profile.json"))
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name  string  `json:"name"`
			Phase string  `json:"ph"`
			Time  float64 `json:"dur"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &trace); err != nil || len(trace.TraceEvents) < 3 || trace.TraceEvents[1].Name != "step" ||
		trace.TraceEvents[1].Phase != "X" || trace.TraceEvents[1].Time <= 0 {
		t.Errorf("trace %s (%v): expected the step and its nodes", b, err)
	}
}
