package distribute_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/distribute/sidecar"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// evaluatorConfig returns the RunConfig of an evaluator task for a chief and a worker.
func evaluatorConfig(t *testing.T, dir string, opts ...runconfig.Option) runconfig.RunConfig {
	t.Helper()
	rc, err := runconfig.FromTFConfig(`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"evaluator","index":0}}`,
		append(opts, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))...)
	if err != nil {
		t.Fatal(err)
	}
	return rc
}

// TestSidecarEvaluates: an evaluator evaluates what the chief saves, with the chief's own results, and ends when the chief
// does. Started again, it has nothing to do.
func TestSidecarEvaluates(t *testing.T) {
	dir := t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	chief, err := newJudged(rc, 37)
	if err != nil {
		t.Fatal(err)
	}
	evaluated := make(chan distribute.EvalResult, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- evaluateBeside(ctx, evaluatorConfig(t, dir, runconfig.TrainDistribute(runconfig.Strategy{Name: "multi_worker_mirrored"}),
			runconfig.EvalDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 2})), evaluated)
	}()
	for range 2 {
		if err := chief.trainOn(ctx, 12); err != nil {
			t.Fatal(err)
		}
		want, err := chief.judge.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chief.Save(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-evaluated:
			compareEvaluations(t, want, got, true)
		case err := <-ended:
			t.Fatalf("the evaluator has ended: %v", err)
		}
	}
	if err := chief.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := evaluateBeside(ctx, evaluatorConfig(t, dir), evaluated); err != nil || len(evaluated) > 0 {
		t.Errorf("%v, %d evaluations of what was evaluated", err, len(evaluated))
	}
	all, err := summary.ReadScalars(filepath.Join(dir, "eval"))
	if err != nil || len(all.Steps()) != 2 || all[chief.GlobalStep()]["accuracy"] == 0 {
		t.Errorf("events %v (%v), expected 2 evaluations", all, err)
	}
}

// evaluateBeside is the program of an evaluator.
func evaluateBeside(ctx context.Context, rc runconfig.RunConfig, evaluated chan<- distribute.EvalResult) error {
	j, err := newJudged(rc, 37)
	if err != nil {
		return err
	}
	last, err := j.EvaluateCheckpoints(ctx, distribute.Sidecar{Evaluate: func(ctx context.Context) (distribute.EvalResult, error) {
		res, err := j.judge.Run(ctx)
		if err == nil {
			evaluated <- res
		}
		return res, err
	}})
	if err == nil && last.Rows != 37 && last.Rows != 0 {
		err = errors.New("the last result is not returned")
	}
	return errors.Join(err, j.Close(ctx))
}

// trainOn makes a step on that many rows.
func (j *judged) trainOn(ctx context.Context, rows int) error {
	x, y := tensor.New(tensor.Float32, rows, 3), tensor.New(tensor.Int32, rows)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i%7) / 7
	}
	for i := range rows {
		tensor.Values[int32](y)[i] = int32(i % 2)
	}
	_, err := j.train.Run(ctx, distribute.Batch{{"x": x, "y": y}})
	return err
}

// TestSidecarRefuses: an invalid Sidecar is refused.
func TestSidecarRefuses(t *testing.T) {
	run := func(context.Context) (distribute.EvalResult, error) { return distribute.EvalResult{}, nil }
	rc, err := runconfig.FromTFConfig("")
	if err != nil {
		t.Fatal(err)
	}
	for text, c := range map[string]struct {
		rc   runconfig.RunConfig
		spec distribute.Sidecar
	}{
		"no model_dir":       {rc, distribute.Sidecar{Evaluate: run}},
		"a function":         {evaluatorConfig(t, t.TempDir()), distribute.Sidecar{}},
		"must be no path":    {evaluatorConfig(t, t.TempDir()), distribute.Sidecar{Evaluate: run, Name: "../x"}},
		"a time is negative": {evaluatorConfig(t, t.TempDir()), distribute.Sidecar{Evaluate: run, Throttle: -1}},
		"errors are passed on": {evaluatorConfig(t, savedOnce(t)), distribute.Sidecar{Evaluate: func(context.Context) (distribute.EvalResult, error) {
			return distribute.EvalResult{}, errors.New("errors are passed on")
		}}},
	} {
		j, err := newJudged(c.rc, 4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.EvaluateCheckpoints(t.Context(), c.spec); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected %q", err, text)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// savedOnce returns the folder of a training that has saved and ended.
func savedOnce(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJudged(rc, 4)
	if err == nil {
		err = j.trainOn(t.Context(), 4)
	}
	if err == nil {
		_, err = j.Save(t.Context())
	}
	if err = errors.Join(err, j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runEvaluator is an evaluator task of processProgram.
func runEvaluator(ctx context.Context, rc runconfig.RunConfig, dir string) error {
	p, err := newProcessProgram(rc, dir)
	if err != nil {
		return err
	}
	_, err = p.EvaluateCheckpoints(ctx, distribute.Sidecar{Evaluate: p.judge.Run})
	return errors.Join(err, p.Close(ctx))
}

// TestEvaluatorProcess: the evaluator of a Coordinator's job evaluates both checkpoints, even though it is killed in
// between, and ends with the job.
func TestEvaluatorProcess(t *testing.T) {
	p := newProcesses(t)
	p.configs["evaluator-0"] = strings.Replace(p.configs["chief-0"], `"task":{"type":"chief"`, `"task":{"type":"evaluator"`, 1)
	p.start("evaluator-0")
	events := sidecar.Dir(filepath.Join(p.dir, "model"), "")
	want := map[int64]float64{}
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		data := c.CreatePerWorkerDataset(x.data)
		for round := range 2 {
			for range 5 {
				if _, err := c.Schedule(ctx, x.step, data); err != nil {
					return err
				}
			}
			if err := c.Join(ctx); err != nil {
				return err
			}
			res, err := x.judge.Run(ctx)
			if err != nil {
				return err
			}
			want[res.GlobalStep], _ = res.Scalar("error")
			if _, err := x.Save(ctx); err != nil {
				return err
			}
			for sidecar.LastEvaluated(events) < res.GlobalStep && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			if round == 0 {
				p.kill("evaluator-0")
				p.start("evaluator-0")
			}
		}
		return ctx.Err()
	})
	all, err := summary.ReadScalars(events)
	if err != nil {
		t.Fatal(err)
	}
	for step, w := range want {
		if got := all[step]["error"]; !(math.Abs(got-w) <= 1e-6*w) { // the chief's program reads variables of servers
			t.Errorf("step %d: error %v, the chief has %v", step, got, w)
		}
	}
	if len(want) != 2 || len(all.Steps()) != 2 {
		t.Errorf("%d evaluations of %d checkpoints", len(all.Steps()), len(want))
	}
}
