package estimator_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// scheduledToy is toyModel with a learning rate.
func scheduledToy(s optimizers.Schedule) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		y := layers.Dense(mc, features.Dense("x"), 1, layers.Weights{})
		spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
		if mc.Mode() == models.Train {
			spec.TrainOp = optimizers.Momentum(0.1, optimizers.WithSchedule(s)).Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

// waiting is a rate that falls at each evaluation whose loss is not at least 1 lower.
var waiting = optimizers.Scaled{
	Schedule: optimizers.Warmup{Steps: 4, Then: optimizers.ReduceOnPlateau{Initial: 0.1, Factor: 0.5, Patience: 2, MinDelta: 1}},
	By:       optimizers.Constant(0.5),
}

// rateRecorder keeps the learning rate of each step.
type rateRecorder struct {
	hooks.Base
	rates map[int64]float64
}

func (r *rateRecorder) Begin(s hooks.Setup) error { return s.Fetch("learning_rate") }

func (r *rateRecorder) AfterRun(_ context.Context, run hooks.Run) error {
	v, err := run.Value("learning_rate")
	if err != nil {
		return err
	}
	r.rates[run.GlobalStep()] = v.Float(0)
	return nil
}

// trainWaiting trains in a model_dir. It evaluates every 5 steps, and each checkpoint, every 10 steps.
func trainWaiting(t *testing.T, dir string, s optimizers.Schedule, steps int64, strategy runconfig.Strategy, with ...hooks.Hook) error {
	t.Helper()
	return trainWaitingFor(t, dir, s, steps, strategy, estimator.EvalSpec{Input: &toyData{}, EverySteps: 5}, with...)
}

// trainWaitingFor trains in a model_dir with a checkpoint every 10 steps.
func trainWaitingFor(t *testing.T, dir string, s optimizers.Schedule, steps int64, strategy runconfig.Strategy, eval estimator.EvalSpec, with ...hooks.Hook) error {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.SaveCheckpointsSteps(10), runconfig.TrainDistribute(strategy))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(scheduledToy(s), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = estimator.TrainAndEvaluate(t.Context(), e, estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: steps, Hooks: with}, eval)
	return err
}

// TestPlateau: the rate falls after evaluations, on one device and on two replicas, and composes with other schedules.
func TestPlateau(t *testing.T) {
	for _, st := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 2}, {Name: "central_storage", Replicas: 2}} {
		r := &rateRecorder{rates: map[int64]float64{}}
		if err := trainWaiting(t, t.TempDir(), waiting, 30, st, r); err != nil {
			t.Fatal(err)
		}
		for step, want := range map[int64]float64{1: 0, 2: 0.0125, 5: 0.05, 15: 0.05, 16: 0.025, 25: 0.025, 26: 0.0125, 30: 0.0125} {
			if got := r.rates[step]; got != want {
				t.Errorf("%s, step %d: rate %v, expected %v: %v", st.Name, step, got, want, r.rates)
			}
		}
	}
}

// TestPlateauResumes: training in pieces, or continued after a kill, has the same checkpoint as training in one go.
func TestPlateauResumes(t *testing.T) {
	whole, pieces, killed := t.TempDir(), t.TempDir(), t.TempDir()
	local := runconfig.Strategy{Name: "default"}
	if err := trainWaiting(t, whole, waiting, 50, local); err != nil {
		t.Fatal(err)
	}
	for _, last := range []int64{10, 20, 30, 50} {
		if err := trainWaiting(t, pieces, waiting, last, local); err != nil {
			t.Fatal(err)
		}
	}
	compareCheckpoints(t, whole, pieces, "model.ckpt-50")
	if err := trainWaiting(t, killed, waiting, 40, local); err != nil {
		t.Fatal(err)
	}
	// As if the process had been killed in step 40: the events have evaluations of steps after the checkpoint.
	names, err := filepath.Glob(filepath.Join(killed, "model.ckpt-40*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v %v", names, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := trainWaiting(t, killed, waiting, 50, local); err != nil {
		t.Fatal(err)
	}
	compareCheckpoints(t, whole, killed, "model.ckpt-50")
}

// TestPlateauResumesByName: the first evaluation has a name of its own and is made after its checkpoint. It counts in the next run.
func TestPlateauResumesByName(t *testing.T) {
	whole, pieces := t.TempDir(), t.TempDir()
	never := optimizers.ReduceOnPlateau{Initial: 0.1, Factor: 0.5, Patience: 2, MinDelta: 10} // never 10 better than the first evaluation
	for dir, ends := range map[string][]int64{whole: {50}, pieces: {10, 50}} {
		for _, last := range ends {
			if err := trainWaitingFor(t, dir, never, last, runconfig.Strategy{Name: "default"}, estimator.EvalSpec{Input: &toyData{}, Name: "held_out"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	compareCheckpoints(t, whole, pieces, "model.ckpt-50")
}

// TestPlateauErrors: the error says why a training cannot use ReduceOnPlateau.
func TestPlateauErrors(t *testing.T) {
	plain := optimizers.ReduceOnPlateau{Initial: 0.1}
	other := plain
	other.Patience = 3
	missing := plain
	missing.Metric = "accurracy"
	for want, s := range map[string]optimizers.Schedule{
		"two schedules wait":                  optimizers.Scaled{Schedule: plain, By: other},
		`evaluations have no metric`:          missing,
		"expected a factor > 0 and < 1":       optimizers.ReduceOnPlateau{Initial: 0.1, Factor: 2},
		"NaN at step 0: expected positive pe": optimizers.Warmup{},
	} {
		if err := trainWaiting(t, t.TempDir(), s, 10, runconfig.Strategy{Name: "default"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %q", s, err, want)
		}
	}
	for _, st := range equalStrategies {
		if st.workers+st.servers == 1 {
			continue
		}
		for _, r := range trainCluster(t, t.TempDir(), st.workers, st.servers, st.strategy, func(_ int, m *member) {
			m.fn = scheduledToy(plain)
			m.input, m.opts = forever(&toyData{}), []estimator.TrainOption{estimator.MaxSteps(3)}
		}) {
			if r.task != runconfig.PS && (r.err == nil || !strings.Contains(r.err.Error(), "needs training in one process") && !errors.Is(r.err, estimator.ErrPeerLost)) {
				t.Errorf("%s, %s: got %v", st.name, r.task, r.err)
			}
		}
		break
	}
}
