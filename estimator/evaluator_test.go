package estimator_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
)

// TestEvaluatorEnds: the evaluator ends if training has ended, even without its last
// checkpoint. If max_steps was raised since, it ends only with the new training.
func TestEvaluatorEnds(t *testing.T) {
	for _, c := range []struct {
		name           string
		ended          checkpoint.Finished
		maxSteps, last int64
	}{
		{"the last checkpoint is missing", checkpoint.Finished{GlobalStep: 5, Reason: estimator.StopEndOfInput}, 0, 3},
		{"max_steps was raised", checkpoint.Finished{GlobalStep: 3, Reason: estimator.StopMaxSteps}, 6, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			dir := t.TempDir()
			var training sync.WaitGroup
			defer training.Wait()
			train := func(last int64) {
				if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.MaxSteps(last)); err != nil {
					t.Error(err)
				}
			}
			train(3)
			err := checkpoint.UpdateRunState(atomicfile.OS{}, dir, func(s *checkpoint.RunState) { s.Finished = &c.ended })
			if err != nil {
				t.Fatal(err)
			}
			rc, err := runconfig.FromTFConfig(`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"evaluator","index":0}}`,
				runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))
			if err != nil {
				t.Fatal(err)
			}
			spec := estimator.EvalSpec{Input: &toyData{}, AfterEval: func(_ context.Context, r estimator.EvalResult, _ bool) error {
				if r.GlobalStep < c.last {
					training.Go(func() { train(c.last) })
				}
				return nil
			}}
			e := custom(t, estimator.ModelFunc(toyModel), dir, estimator.WithRunConfig(rc))
			res, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: &toyData{}, MaxSteps: c.maxSteps}, spec)
			if err != nil || res.Eval == nil || res.Eval.GlobalStep != c.last {
				t.Errorf("got %+v (%v), expected an evaluation of step %d", res, err, c.last)
			}
		})
	}
}

// recordingExporter is an Exporter that records its evaluations.
type recordingExporter struct {
	all  []estimator.Evaluation
	then func(ev estimator.Evaluation) error
}

func (x *recordingExporter) Name() string { return "recording" }

func (x *recordingExporter) Export(_ context.Context, _ *estimator.Estimator, _ string, ev estimator.Evaluation) (string, error) {
	x.all = append(x.all, ev)
	return "", x.then(ev)
}

// TestEvaluatorExportsAgain: an evaluator that ended between an evaluation and its
// export makes the export when it is started again, even while training continues.
func TestEvaluatorExportsAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dir := t.TempDir()
	train := func(last int64) {
		if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.MaxSteps(last)); err != nil {
			t.Error(err)
		}
	}
	train(3)
	var training sync.WaitGroup
	defer training.Wait()
	rc, err := runconfig.FromTFConfig(`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"evaluator","index":0}}`, runconfig.ModelDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	run := func(x estimator.Exporter) error {
		e := custom(t, estimator.ModelFunc(toyModel), dir, estimator.WithRunConfig(rc))
		_, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: &toyData{}, MaxSteps: 6}, estimator.EvalSpec{Input: &toyData{}, Exporters: []estimator.Exporter{x}})
		return err
	}
	killed := errors.New("killed")
	if err := run(&recordingExporter{then: func(estimator.Evaluation) error { return killed }}); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	x := &recordingExporter{then: func(ev estimator.Evaluation) error {
		if ev.GlobalStep == 3 {
			training.Go(func() { train(6) })
		}
		return nil
	}}
	if err := run(x); err != nil {
		t.Fatal(err)
	}
	if len(x.all) != 2 || x.all[0].GlobalStep != 3 || x.all[0].Final || x.all[0].Checkpoint != filepath.Join(dir, "model.ckpt-3") || x.all[1].GlobalStep != 6 || !x.all[1].Final {
		t.Errorf("evaluations %+v, expected steps 3 and, as the last, 6", x.all)
	}
}
