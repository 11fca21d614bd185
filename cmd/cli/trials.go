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
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/diskspace"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/search"
)

// trialGrace is the time that an interrupted trial has to write its checkpoint.
const trialGrace = 30 * time.Second

// trials trains each trial in its own process and folder, and records the results in a journal.
type trials struct {
	app     *app
	search  *search.Search
	journal *search.Journal
	args    func(search.Trial) []string             // arguments of train
	log     func(search.Trial) string               // path of a trial's log file
	read    func(*search.Result, jsonSummary) error // reads the result from train's output
	most    int                                     // number of failures at the beginning that ends the search; 0: no limit
	watch   bool                                    // whether to read evaluations during trials, for the median stopping rule
	failed  int
	succeed bool
}

// ended is what a trial's goroutine sends: the result, or why there is none.
type ended struct {
	result search.Result
	err    error
}

// run runs trials until none is left. If one cannot run, the running ones are interrupted.
func (t *trials) run(ctx context.Context) error {
	for _, r := range t.search.Results() {
		t.count(r)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done, told := make(chan ended), make(chan evaluated)
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
			w := newEvalReader(t.search.Spec().Metric, told)
			go func() {
				r, err := t.one(ctx, trial, w)
				done <- ended{r, err}
			}()
		}
		if running == 0 {
			return cmp.Or(failure, ctx.Err())
		}
		var e ended
		select {
		case w := <-told:
			if t.search.Behind(w.curve) {
				w.stop()
			}
			continue
		case e = <-done:
			running--
		}
		if e.err == nil {
			e.err = t.take(e.result)
		}
		if e.err != nil && ctx.Err() == nil {
			failure = e.err
			stop()
		}
	}
}

// fpTrialNoted is reached when the journal has a result.
var fpTrialNoted = failpoint.New("cli/trial-noted")

// take records a result.
func (t *trials) take(r search.Result) error {
	if err := t.journal.End(r); err != nil {
		return err
	}
	if err := fpTrialNoted.Here(); err != nil {
		return err
	}
	t.search.Add(r)
	t.count(r)
	value, ok := r.Got()
	switch {
	case r.Error != "":
		t.app.log.Warn("trial failed", "number", r.Number, "values", strings.Join(r.Sets(), " "), "error", r.Error, "log", t.log(r.Trial))
	case ok && r.Stopped:
		t.app.log.Info("trial stopped", "number", r.Number, "values", strings.Join(r.Sets(), " "), t.search.Spec().Metric, value)
	case ok:
		t.app.log.Info("trial", "number", r.Number, "values", strings.Join(r.Sets(), " "), t.search.Spec().Metric, value)
	}
	if t.most > 0 && t.failed >= t.most && !t.succeed {
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

// one trains a trial. A failed trial is a result; an error ends the search.
func (t *trials) one(ctx context.Context, trial search.Trial, evals *evalReader) (search.Result, error) {
	defer evals.end()
	r := search.Result{Trial: trial}
	binary, err := os.Executable()
	if err != nil {
		return r, err
	}
	logFile, err := os.OpenFile(t.log(trial), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return r, err
	}
	defer logFile.Close()
	var out, last bytes.Buffer
	env := append(os.Environ(), "TF_CONFIG=")
	if n := t.search.Spec().Parallel; n > 1 && os.Getenv("GOMAXPROCS") == "" {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.GOMAXPROCS(0)/n)))
	}
	args, stderr := slices.Concat([]string{binary, "train", "--json"}, t.args(trial), []string{"--set", "run.notify="}), io.MultiWriter(&tail{&last}, lossy{logFile})
	if t.watch {
		args, stderr = append(args, "--log-format", "json"), io.MultiWriter(stderr, evals)
	}
	p, err := proc.Start(proc.Command{Args: args, Env: env, Stdout: &out, Stderr: stderr, Linger: time.Second})
	if err != nil {
		return r, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(trialGrace)
		return r, ctx.Err()
	case <-evals.stopped:
		p.Stop(trialGrace)
		return evals.result(r), nil
	}
	r.Curve = evals.ended()
	if code := p.ExitCode(); code == estimator.ExitInterrupted {
		return r, errors.New("a trial was interrupted: the same command goes on")
	} else if code != 0 {
		r.Error = cmp.Or(lastLine(last.String()), fmt.Sprintf("exit code %d", code))
		if diskspace.Advises(r.Error) { // not the fault of the trial's values, and the next one would fail too
			return r, fmt.Errorf("trial %d: %s", r.Number, r.Error)
		}
		return r, nil
	}
	var s jsonSummary
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		return r, fmt.Errorf("trial %d: what train printed: %w", r.Number, err)
	}
	return r, t.read(&r, s)
}

// lossy ignores write errors, such as a full disk, so that other writers still get the output.
type lossy struct{ io.Writer }

func (w lossy) Write(p []byte) (int, error) {
	_, _ = w.Writer.Write(p)
	return len(p), nil
}

// tail keeps the end of the output.
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
