package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	eventfiles "github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

// sweptConfig has a rate that decides how well 30 steps train.
const sweptConfig = `
model_dir: run
seed: 7
model: {name: linear, params: {label_dimension: 1}}
train:
  input: {format: csv, files: rows.csv, columns: &columns [{name: a}, {name: y, role: label}], batch_size: 4, repeat: true}
  max_steps: 30
eval: {input: {format: csv, files: rows.csv, columns: *columns, batch_size: 4}}
sweep:
  algorithm: grid
  parallel: 2
  parameters: [{key: optimizer.learning_rate, values: [1e-6, 0.1, 1e-5]}]
`

// sweepIn runs the command in a new folder. Each trial is a process of this binary.
func sweepIn(t *testing.T, cfg string) (run func(ctx context.Context, args ...string) (code int, out, errs string)) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv(asBinary, "1")
	for name, text := range map[string]string{"c.yaml": cfg, "rows.csv": "0,1\n1,3\n2,5\n3,7\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(ctx context.Context, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Run(ctx, append([]string{"sweep", "--config", "c.yaml"}, args...), &out, &errs)
		return code, out.String(), errs.String()
	}
}

// TestSweep: the best of a grid, its config, and a second run that has nothing left to do.
func TestSweep(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	code, out, errs := run(t.Context())
	if code != 0 || !strings.Contains(out, "best_trial=1\n") || !strings.Contains(out, "trials=3\n") {
		t.Fatalf("code %d, %s%s", code, out, errs)
	}
	best, err := os.ReadFile("run_sweep/best.yaml")
	if err != nil || !strings.Contains(string(best), "learning_rate: 0.1\n") || !strings.Contains(string(best), "model_dir: run_sweep/trials/0001\n") || strings.Contains(string(best), "sweep:\n") {
		t.Errorf("%v\n%s", err, best)
	}
	again, out, errs := run(t.Context(), "--json")
	var sum sweepSummary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || again != 0 || sum.Best == nil || sum.Best.Number != 1 || len(sum.Trials) != 3 {
		t.Errorf("code %d, %v, %+v", again, err, sum)
	}
	if strings.Count(errs, "loss=") != 0 || !strings.Contains(errs, "goes on") {
		t.Errorf("the second run trained: %s", errs)
	}
	if code, _, errs := run(t.Context(), "--set", "train.max_steps=31"); code != exitUsage || !strings.Contains(errs, "another sweep") {
		t.Errorf("another config: code %d, %s", code, errs)
	}
}

// TestSweepGoesOn after an interruption: the trial that had begun trains again, finished ones do not.
func TestSweepGoesOn(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	if code, _, errs := run(t.Context(), "--set", "sweep.parallel=1"); code != 0 {
		t.Fatal(errs)
	}
	journal := filepath.Join("run_sweep", "sweep.jsonl")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n") // sweep, begun 0, result 0, begun 1, ...
	if err := os.WriteFile(journal, []byte(strings.Join(lines[:4], "")+lines[4][:9]), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t.Context())
	if code != 0 || !strings.Contains(out, "best_trial=1\n") || strings.Contains(errs, "number=0") || !strings.Contains(errs, "number=1") || !strings.Contains(errs, "number=2") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
}

// TestSweepFails if trials fail: a failed one does not count, three at the beginning end the sweep.
func TestSweepFails(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	code, out, errs := run(t.Context(), "--set", "sweep.parameters=[{key: optimizer.learning_rate, values: [1e30, 0.1]}]")
	if code != 0 || !strings.Contains(out, "best_trial=1\n") || !strings.Contains(out, "failed") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	code, _, errs = run(t.Context(), "--dir", "other", "--set", "sweep.parameters=[{key: train.input.files, values: [[x.csv], [y.csv], [z.csv], [u.csv]]}]")
	if code != 1 || !strings.Contains(errs, "the first 3 trials failed") || !strings.Contains(errs, "z.csv") && !strings.Contains(errs, "u.csv") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// TestSweepOnAFullDisk: a trial without disk space, not even for its log, ends the sweep. The same command resumes with that trial.
func TestSweepOnAFullDisk(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	if _, err := os.Stat("/dev/full"); err == nil {
		err = os.MkdirAll("run_sweep/trials", 0o700)
		for _, log := range []string{"0000.log", "0001.log", "0002.log"} {
			err = errors.Join(err, os.Symlink("/dev/full", filepath.Join("run_sweep", "trials", log)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOESTIMATOR_FAILPOINTS", "checkpoint/start=error(no space left on device: "+diskspace.Advice(syscall.ENOSPC)+")") // for trials
	if code, _, errs := run(t.Context()); code != 1 || !strings.Contains(errs, "trial ") || !strings.Contains(errs, "free some space") || strings.Contains(errs, "trial failed") {
		t.Errorf("on a full disk: code %d, %s", code, errs)
	}
	t.Setenv("GOESTIMATOR_FAILPOINTS", "")
	if code, out, errs := run(t.Context()); code != 0 || !strings.Contains(out, "best_trial=1\n") || strings.Contains(out, "failed") {
		t.Errorf("with space: code %d, %s%s", code, out, errs)
	}
}

// TestSweepHParams: TensorBoard's HPARAMS page finds in the folder of each trial its parameters, and how it ended.
func TestSweepHParams(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	// A NaN loss is an error during training; an infinite one is found after its end.
	code, _, errs := run(t.Context(), "--set", "sweep.parameters=[{key: optimizer.learning_rate, values: [0.1, 1e30, 1e19]}]", "--set", "train.max_steps=2")
	if code != 0 {
		t.Fatal(errs)
	}
	for i, want := range []struct {
		rate   float64
		status eventfiles.Status
	}{{0.1, eventfiles.StatusSuccess}, {1e30, eventfiles.StatusFailure}, {1e19, eventfiles.StatusFailure}} {
		began, ended := [][]byte(nil), [][]byte(nil)
		for e, err := range eventfiles.Read(fmt.Sprintf("run_sweep/trials/%04d", i)) {
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range e.GetSummary().GetValue() {
				switch content := v.GetMetadata().GetPluginData().GetContent(); v.Tag {
				case "_hparams_/session_start_info":
					began = append(began, content)
				case "_hparams_/session_end_info":
					ended = append(ended, content)
				}
			}
		}
		rate, err := eventfiles.HParams(map[string]any{"optimizer.learning_rate": want.rate}, 0)
		if err != nil {
			t.Fatal(err)
		}
		// Cut off the lengths of two enclosing messages: what remains is the map entry as it also appears in a message with more entries.
		entry := rate.Metadata.PluginData.Content
		entry = entry[4 : len(entry)-9]
		if len(began) != 1 || !bytes.Contains(began[0], entry) {
			t.Errorf("trial %d: %q, expected the rate %g", i, began, want.rate)
		}
		end := eventfiles.HParamsEnd(want.status, 0).Metadata.PluginData.Content
		if len(ended) != 1 || !bytes.HasPrefix(ended[0][2:], end[2:4]) {
			t.Errorf("trial %d: %x, expected the end %v", i, ended, want.status)
		}
	}
}

// TestSweepIsInterrupted: after a signal no trial begins, and the trials that it stopped do not count.
func TestSweepIsInterrupted(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, errs := run(ctx)
	if code == 0 || out != "" {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	text, err := os.ReadFile(filepath.Join("run_sweep", "sweep.jsonl"))
	if err != nil || strings.Contains(string(text), "result") {
		t.Errorf("%v\n%s", err, text)
	}
	if code, out, errs := run(t.Context()); code != 0 || !strings.Contains(out, "best_trial=1\n") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
}

// TestSweepMistakes: mistakes are reported before anything trains.
func TestSweepMistakes(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	for want, set := range map[string]string{
		"expected one of random, grid, tpe, halving": "sweep.algorithm=luck",
		"optimizer.learning_rat":                     "sweep.parameters=[{key: optimizer.learning_rat, values: [1]}]",
		"sweep.parameters, train.max_steps":          "sweep.parameters=[{key: train.max_steps, values: [many]}]",
		"eval.input.format is not set":               "eval.input.format=",
		"no model_dir and no --dir":                  "model_dir=",
	} {
		if code, out, errs := run(t.Context(), "--set", set); code != exitUsage || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%s: code %d, %s%s", set, code, out, errs)
		}
	}
	if _, err := os.Stat("run_sweep"); err == nil {
		t.Error("a folder was made")
	}
	if code, _, errs := run(t.Context(), "--set", "sweep.metric=beauty"); code != exitUsage || !strings.Contains(errs, "sweep.metric: no metric beauty") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// TestSweepStops a trial that is worse than the median of the finished ones, and writes a page of them all.
func TestSweepStops(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	code, out, errs := run(t.Context(), "--html", "page.html", "--set", "sweep.parallel=1", "--set", "sweep.median_stopping=true", "--set", "train.max_steps=4000",
		"--set", "run.save_checkpoints_steps=500", "--set", "eval.throttle_secs=0", "--set", "sweep.parameters=[{key: optimizer.learning_rate, values: [0.01, 0.02, 0.03, 1e-9]}]")
	if code != 0 || !strings.Contains(out, "trials=4\n") || !strings.Contains(out, "(stopped)") || !strings.Contains(errs, "trial stopped number=3") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"loss by trial", `"type":"parallel"`, "(stopped)"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestSweepBegins with the config's own values, whatever the ranges.
func TestSweepBegins(t *testing.T) {
	run := sweepIn(t, sweptConfig)
	code, out, errs := run(t.Context(), "--json", "--set", "sweep.algorithm=random", "--set", "sweep.trials=2", "--set", "optimizer.learning_rate=0.1",
		"--set", "sweep.parameters=[{key: optimizer.learning_rate, min: 1e-9, max: 1e-8, log: true}, {key: train.input.shuffle, values: [0]}]")
	var sum sweepSummary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != 0 || sum.Best == nil || sum.Best.Number != 0 || sum.Best.Values["optimizer.learning_rate"] != 0.1 {
		t.Errorf("code %d, %v, %s%s", code, err, out, errs)
	}
}
