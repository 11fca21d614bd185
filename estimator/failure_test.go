package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"regexp"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// failedOf returns the failure recorded in model_dir, nil for none.
func failedOf(t *testing.T, dir string) *checkpoint.Failed {
	t.Helper()
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s.Failed
}

// TestClusterChiefDiffers: a chief that is started again with other settings is refused,
// and ends neither its parameter servers nor the evaluator; the next chief continues.
func TestClusterChiefDiffers(t *testing.T) {
	dir := t.TempDir()
	s := runconfig.Strategy{Name: "parameter_server"}
	for _, r := range trainCluster(t, dir, 1, 1, s, func(_ int, m *member) {
		chief := func(ctx context.Context, rate float64, opts ...estimator.TrainOption) (estimator.TrainResult, error) {
			rc, err := runconfig.FromTFConfig(m.text, m.run...)
			if err != nil {
				return estimator.TrainResult{}, err
			}
			e, err := estimator.New(equalModel(rule.SGD{}, rate, true), estimator.WithRunConfig(rc), estimator.WithLogger(m.log))
			if err != nil {
				return estimator.TrainResult{}, err
			}
			defer e.Close()
			return e.Train(ctx, m.input, append(opts, estimator.MaxSteps(20))...)
		}
		m.train = func(ctx context.Context, _ *estimator.Estimator) (estimator.TrainResult, error) {
			ended, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			if _, err := chief(ended, 0.05, estimator.WithHooks(&cancelAt{step: 5, cancel: cancel})); !errors.Is(err, estimator.ErrInterrupted) {
				t.Errorf("got %v, expected an interruption", err)
			}
			_, err := chief(ctx, 0.06)
			if code := estimator.ExitCode(err); !errors.Is(err, distribute.ErrDiffer) || code != estimator.ExitMistake {
				t.Errorf("got %v with exit code %d, expected ErrDiffer with 2", err, code)
			}
			if f := failedOf(t, dir); f != nil {
				t.Errorf("model_dir tells of a failure: %+v", f)
			}
			return chief(ctx, 0.05)
		}
	}) {
		if r.err != nil {
			t.Errorf("%s: %v", r.task, r.err)
		}
	}
}

// TestClusterSecondChiefFails: if a second chief starts on another node while the first
// one still trains, and fails before it trains, the job goes on.
func TestClusterSecondChiefFails(t *testing.T) {
	t.Setenv(runconfig.EnvName("run.job_id"), "one") // identifies the job at any address
	dir := t.TempDir()
	ports, err := freeport.Reserve(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	for _, r := range trainCluster(t, dir, 1, 1, runconfig.Strategy{Name: "parameter_server"}, func(_ int, m *member) {
		second := &sideEffect{fn: func() {
			text := regexp.MustCompile(`"chief":\["[^"]*"\]`).ReplaceAllString(m.text, fmt.Sprintf(`"chief":[%q]`, ports.Address(0)))
			rc, err := runconfig.FromTFConfig(text, m.run...)
			if err != nil {
				t.Error(err)
			}
			estimator.ReportFailure(t.Context(), rc, m.log, errors.New("bad config"))
			if f := failedOf(t, dir); f != nil {
				t.Errorf("model_dir tells of a failure: %+v", f)
			}
		}}
		m.opts = []estimator.TrainOption{estimator.MaxSteps(20), estimator.WithHooks(second)}
	}) {
		if r.err != nil {
			t.Errorf("%s: %v", r.task, r.err)
		}
	}
}

// TestSkippedTrainingForgetsFailure: a job that failed after its last step, for example in an
// export, is started again. Its chief skips training, and its evaluator ends without an error.
func TestSkippedTrainingForgetsFailure(t *testing.T) {
	dir := t.TempDir()
	text := func(task string) string {
		return fmt.Sprintf(`{"cluster":{"chief":["a:1"]},"task":{"type":%q,"index":0}}`, task)
	}
	task := func(name string) *estimator.Estimator {
		rc, err := runconfig.FromTFConfig(text(name), runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))
		if err != nil {
			t.Fatal(err)
		}
		return custom(t, estimator.ModelFunc(toyModel), dir, estimator.WithRunConfig(rc))
	}
	train := func() error {
		_, err := task("chief").Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(3))
		return err
	}
	if err := train(); err != nil {
		t.Fatal(err)
	}
	estimator.ReportFailure(t.Context(), task("chief").Config(), slog.New(slog.DiscardHandler), errors.New("export failed"))
	if failedOf(t, dir) == nil {
		t.Fatal("model_dir does not tell of the failure")
	}
	if err := train(); err != nil {
		t.Fatal(err)
	}
	if f := failedOf(t, dir); f != nil {
		t.Errorf("model_dir still tells of a failure: %+v", f)
	}
	res, err := estimator.TrainAndEvaluate(t.Context(), task("evaluator"), estimator.TrainSpec{Input: &toyData{}, MaxSteps: 3}, estimator.EvalSpec{Input: &toyData{}})
	if err != nil || res.Eval == nil || res.Eval.GlobalStep != 3 {
		t.Errorf("the evaluator: %+v (%v), expected an evaluation of step 3", res, err)
	}
}

// TestClusterChiefFailsBefore: parameter servers learn of any error with which a chief
// fails before it joins the job.
func TestClusterChiefFailsBefore(t *testing.T) {
	evaluate := func(eval estimator.EvalSpec) func(m *member) {
		return func(m *member) {
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				res, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: m.input, MaxSteps: 20}, eval)
				return res.TrainResult, err
			}
		}
	}
	best, err := estimator.NewBestExporter(estimator.ExporterOptions{Name: "top"}, "lss", false)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(m *member)
		code   int
	}{
		"no input":        {evaluate(estimator.EvalSpec{}), estimator.ExitError},
		"misspelt metric": {evaluate(estimator.EvalSpec{Input: estimator.InputFunc(equalData), Exporters: []estimator.Exporter{best}}), estimator.ExitMistake},
		"wrong option":    {func(m *member) { m.opts = []estimator.TrainOption{estimator.MaxSteps(-1)} }, estimator.ExitError},
		"other strategy": {func(m *member) {
			m.run = append(m.run, runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored"}))
		}, estimator.ExitMistake},
	} {
		t.Run(name, func(t *testing.T) {
			res := trainCluster(t, t.TempDir(), 1, 1, runconfig.Strategy{Name: "parameter_server"}, func(_ int, m *member) { c.change(m) })
			for _, r := range res {
				if code := estimator.ExitCode(r.err); r.err == nil || code != c.code {
					t.Errorf("%s: %v, exit code %d, expected %d", r.task, r.err, code, c.code)
				}
			}
		})
	}
}

// TestTellFailureOfInterruption: an error that only follows from the end of the context
// does not fail a job.
func TestTellFailureOfInterruption(t *testing.T) {
	for _, own := range []bool{false, true} {
		dir := t.TempDir()
		rc, err := runconfig.FromTFConfig(`{"cluster":{"chief":["a:1"]},"task":{"type":"chief","index":0}}`, runconfig.ModelDir(dir))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStopHere)
		err = fmt.Errorf("reading data: %w", ctx.Err())
		if own {
			err = errors.New("no data")
		}
		estimator.ReportFailure(ctx, rc, slog.New(slog.DiscardHandler), err)
		if f := failedOf(t, dir); (f != nil) != own {
			t.Errorf("%v: model_dir tells of %+v", err, f)
		}
	}
}
