package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// trainRestoring trains in dir. The best evaluation has the highest loss, and so is an early one.
func trainRestoring(t *testing.T, dir string, steps int64, strategy runconfig.Strategy, best *estimator.RestoreBest, eval estimator.EvalSpec) (estimator.Result, error) {
	t.Helper()
	return trainRestoringSpec(t.Context(), t, dir, estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: steps, RestoreBest: best}, strategy, eval)
}

func trainRestoringSpec(ctx context.Context, t *testing.T, dir string, train estimator.TrainSpec, strategy runconfig.Strategy, eval estimator.EvalSpec) (estimator.Result, error) {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.SaveCheckpointsSteps(10),
		runconfig.KeepCheckpointMax(2), runconfig.TrainDistribute(strategy))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(averagedToy(toyEMA), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return estimator.TrainAndEvaluate(ctx, e, train, eval)
}

// checkRestored fails unless the checkpoint of a step has the weights of the best step, and otherwise its own state.
func checkRestored(t *testing.T, dir string, step, of string) {
	t.Helper()
	r, from := openCheckpoint(t, dir, "model.ckpt-"+step), openCheckpoint(t, dir, "model.ckpt-"+of)
	for _, info := range r.List() {
		if strings.HasPrefix(info.Name, "goestimator/") {
			continue
		}
		a, err := r.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := from.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		own := info.Name == "global_step" || strings.HasSuffix(info.Name, "/Momentum")
		if same := bytes.Equal(a.Bytes, b.Bytes); same == own {
			t.Errorf("%s at step %s: equal to that of step %s: %v", info.Name, step, of, same)
		}
	}
}

// TestRestoreBest: the last checkpoint has the weights of the best evaluation, whose own checkpoint stays. The best weights
// are evaluated and exported at the end, and the next run knows them.
func TestRestoreBest(t *testing.T) {
	for _, st := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 2}} {
		dir := t.TempDir()
		best := &estimator.RestoreBest{Metric: "loss", HigherIsBetter: true, MinSteps: 10}
		var last []float64
		eval := estimator.EvalSpec{Input: &toyData{}, EverySteps: 5, AfterEval: func(_ context.Context, r estimator.EvalResult, final bool) error {
			if v, _ := r.Scalar("loss"); final || r.GlobalStep == 10 {
				last = append(last, v)
			}
			return nil
		}}
		res, err := trainRestoring(t, dir, 50, st, best, eval)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := res.Eval.Scalar("loss"); len(last) != 3 || v != last[0] || v != last[2] || res.GlobalStep != 50 {
			t.Errorf("%s: step %d, loss %v, evaluations %v: expected those of step 10 in memory, of its checkpoint and at the end to be equal", st.Name, res.GlobalStep, v, last)
		}
		checkRestored(t, dir, "50", "10")
		// A run that continues keeps the best; a run with nothing to do changes nothing.
		for _, steps := range []int64{80, 80} {
			if res, err = trainRestoring(t, dir, steps, st, best, eval); err != nil {
				t.Fatal(err)
			}
			if v, _ := res.Eval.Scalar("loss"); v != last[0] {
				t.Errorf("%s: loss %v after %d steps, expected %v", st.Name, v, steps, last[0])
			}
			checkRestored(t, dir, "80", "10")
		}
		// With another rule the best starts again; the checkpoint of the old best may be deleted.
		if _, err = trainRestoring(t, dir, 110, st, &estimator.RestoreBest{Metric: "loss", HigherIsBetter: true, MinSteps: 85}, eval); err != nil {
			t.Fatal(err)
		}
		checkRestored(t, dir, "110", "85")
	}
}

// TestRestoreBestOfTheLast: if the last evaluation is the best, its weights stay.
func TestRestoreBestOfTheLast(t *testing.T) {
	plain, restoring := t.TempDir(), t.TempDir()
	for dir, best := range map[string]*estimator.RestoreBest{plain: nil, restoring: {Metric: "loss"}} {
		if _, err := trainRestoring(t, dir, 30, runconfig.Strategy{Name: "default"}, best, estimator.EvalSpec{Input: &toyData{}}); err != nil {
			t.Fatal(err)
		}
	}
	compareCheckpoints(t, plain, restoring, "model.ckpt-30")
}

// failAt is a hook that fails in the evaluation of a step.
type failAt struct {
	hooks.Base
	step int64
}

var errDisk = errors.New("disk full")

func (h failAt) AfterRun(_ context.Context, r hooks.Run) error {
	if r.GlobalStep() == h.step {
		return errDisk
	}
	return nil
}

// TestRestoreBestBehindAFailure: a run may end between an evaluation and its record, or between the last checkpoint and its
// restored weights. The next run makes up for it.
func TestRestoreBestBehindAFailure(t *testing.T) {
	dir, best, local := t.TempDir(), &estimator.RestoreBest{Metric: "loss", HigherIsBetter: true, MinSteps: 10}, runconfig.Strategy{Name: "default"}
	if _, err := trainRestoring(t, dir, 10, local, nil, estimator.EvalSpec{Input: &toyData{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := trainRestoring(t, dir, 30, local, best, estimator.EvalSpec{Input: &toyData{}, Hooks: []hooks.Hook{failAt{step: 30}}}); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	if _, err := trainRestoring(t, dir, 30, local, best, estimator.EvalSpec{Input: &toyData{}}); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, dir, "30", "10")
	st, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
	if err != nil || st.Best == nil || st.Best.GlobalStep != 10 || st.Best.Restored != 30 {
		t.Errorf("state %+v, %v", st.Best, err)
	}
}

// TestRestoreBestErrors: an unknown metric, and tasks that do not evaluate.
func TestRestoreBestErrors(t *testing.T) {
	local := runconfig.Strategy{Name: "default"}
	_, err := trainRestoring(t, t.TempDir(), 10, local, &estimator.RestoreBest{Metric: "los"}, estimator.EvalSpec{Input: &toyData{}})
	if unknown := new(estimator.UnknownMetricError); !errors.As(err, &unknown) || unknown.By != "restore best" {
		t.Errorf("got %v", err)
	}
	ports, err := freeport.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	cluster := fmt.Sprintf(`{"cluster": {"chief": [%q], "worker": [%q], "ps": [%q]}, "task": {"type": "chief", "index": 0}}`, ports.Address(0), ports.Address(1), ports.Address(2))
	rc, err := runconfig.FromTFConfig(cluster,
		runconfig.ModelDir(t.TempDir()), runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server"}))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(averagedToy(toyEMA), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = estimator.TrainAndEvaluate(t.Context(), e, estimator.TrainSpec{Input: &toyData{}, RestoreBest: &estimator.RestoreBest{Metric: "loss"}}, estimator.EvalSpec{Input: &toyData{}})
	if err == nil || !strings.Contains(err.Error(), "needs training in one process") {
		t.Errorf("got %v", err)
	}
}
