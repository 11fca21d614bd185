package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/search"
)

// trialGrace is how long an interrupted trial has for its checkpoint.
const trialGrace = 30 * time.Second

// hopeless is how many trials fail, without one that succeeds, before the sweep ends.
const hopeless = 3

// trials runs those of a sweep.
type trials struct {
	app     *app
	flags   sweepFlags
	search  *search.Search
	journal *search.Journal
	failed  int
	succeed bool
}

// ended is what a trial's goroutine says: its result, or why there is none.
type ended struct {
	result search.Result
	err    error
}

// run runs trials until none is left. Where one cannot run, those that do are interrupted.
func (t *trials) run(ctx context.Context) error {
	for _, r := range t.search.Results() {
		t.count(r)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan ended)
	var failure error
	for running := 0; ; {
		for failure == nil && ctx.Err() == nil && running < t.search.Spec().Parallel {
			trial, ok := t.search.Next()
			if !ok {
				break
			}
			if failure = t.journal.Begin(trial); failure != nil {
				stop()
				break
			}
			running++
			go func() {
				r, err := t.one(ctx, trial)
				done <- ended{r, err}
			}()
		}
		if running == 0 {
			return cmp.Or(failure, ctx.Err())
		}
		e := <-done
		running--
		if e.err == nil {
			e.err = t.take(e.result)
		}
		if e.err != nil && ctx.Err() == nil {
			failure = e.err
			stop()
		}
	}
}

// take notes a result.
func (t *trials) take(r search.Result) error {
	if err := t.journal.End(r); err != nil {
		return err
	}
	t.search.Add(r)
	t.count(r)
	value, ok := r.Got()
	switch {
	case r.Error != "":
		t.app.log.Warn("trial failed", "number", r.Number, "values", strings.Join(r.Sets(), " "), "error", r.Error, "log", t.file(r.Trial)+".log")
	case ok:
		t.app.log.Info("trial", "number", r.Number, "values", strings.Join(r.Sets(), " "), t.search.Spec().Metric, value)
	}
	if t.failed >= hopeless && !t.succeed {
		return fmt.Errorf("the first %d trials failed, the last with: %s", t.failed, r.Error)
	}
	return nil
}

func (t *trials) count(r search.Result) {
	if r.Error != "" {
		t.failed++
	} else {
		t.succeed = true
	}
}

// file is the model_dir of a trial.
func (t *trials) file(trial search.Trial) string {
	return filepath.Join(t.flags.dir, "trials", fmt.Sprintf("%04d", trial.Number))
}

// one trains a trial. Its failure is part of the result; an error is one of the sweep.
func (t *trials) one(ctx context.Context, trial search.Trial) (search.Result, error) {
	r := search.Result{Trial: trial}
	binary, err := os.Executable()
	if err != nil {
		return r, err
	}
	logFile, err := os.OpenFile(t.file(trial)+".log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return r, err
	}
	defer logFile.Close()
	args := []string{binary, "train", "--json", "--config", t.flags.path}
	sets := append(t.flags.sets[:len(t.flags.sets):len(t.flags.sets)], trial.Sets()...)
	sets = append(sets, "model_dir="+t.file(trial), "run.notify=") // of a sweep, not of each trial
	if trial.Steps > 0 {
		sets = append(sets, fmt.Sprintf("train.max_steps=%d", trial.Steps))
	}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	var out, last bytes.Buffer
	env := append(os.Environ(), "TF_CONFIG=")
	if n := t.search.Spec().Parallel; n > 1 && os.Getenv("GOMAXPROCS") == "" {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.GOMAXPROCS(0)/n)))
	}
	p, err := proc.Start(proc.Command{Args: args, Env: env, Stdout: &out, Stderr: io.MultiWriter(logFile, &tail{&last}), Linger: time.Second})
	if err != nil {
		return r, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(trialGrace)
		return r, ctx.Err()
	}
	if code := p.ExitCode(); code == estimator.ExitInterrupted {
		return r, errors.New("a trial was interrupted: the same command goes on")
	} else if code != 0 {
		r.Error = cmp.Or(lastLine(last.String()), fmt.Sprintf("exit code %d", code))
		return r, nil
	}
	return r, t.read(&r, out.Bytes())
}

// read takes the metric from what train has printed.
func (t *trials) read(r *search.Result, printed []byte) error {
	var s jsonSummary
	if err := json.Unmarshal(printed, &s); err != nil {
		return fmt.Errorf("trial %d: what train printed: %w", r.Number, err)
	}
	metric := t.search.Spec().Metric
	v, ok := s.Metrics[metric]
	if !ok {
		return usage(fmt.Errorf("sweep.metric: no metric %s in the evaluation: expected one of %s", metric, strings.Join(sortedNames(s.Metrics), ", ")))
	}
	if x, ok := v.(float64); ok {
		r.Value = &x
		return nil
	}
	r.Error = fmt.Sprintf("%s is %v", metric, cmp.Or(s.NotFinite["metrics."+metric], "no number"))
	return nil
}

// tail keeps the end of what is written.
type tail struct{ *bytes.Buffer }

func (w *tail) Write(p []byte) (int, error) {
	if w.Len() > 1<<13 {
		w.Next(w.Len() - 1<<12)
	}
	w.Buffer.Write(p[max(0, len(p)-1<<12):])
	return len(p), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
