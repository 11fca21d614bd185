package estimator_test

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/optimizers"
)

// TestOptionsOfCalls: each call accepts the options that apply to it; others do not compile.
func TestOptionsOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		option                   any
		train, evaluate, predict bool
	}{
		"Steps":               {estimator.Steps(1), true, true, true},
		"WithHooks":           {estimator.WithHooks(), true, true, true},
		"MaxSteps":            {estimator.MaxSteps(1), true, false, false},
		"WithSavingListeners": {estimator.WithSavingListeners(), true, false, false},
		"CheckpointPath":      {estimator.CheckpointPath(""), false, true, true},
		"EvalName":            {estimator.EvalName(""), false, true, false},
		"PredictKeys":         {estimator.PredictKeys(), false, false, true},
	} {
		_, train := c.option.(estimator.TrainOption)
		_, evaluate := c.option.(estimator.EvalOption)
		_, predict := c.option.(estimator.PredictOption)
		if train != c.train || evaluate != c.evaluate || predict != c.predict {
			t.Errorf("%s: train %v, evaluate %v, predict %v: expected %v, %v, %v", name, train, evaluate, predict, c.train, c.evaluate, c.predict)
		}
	}
}

func TestNilOptions(t *testing.T) {
	e := toy(t, t.TempDir())
	for _, o := range []estimator.TrainOption{nil, estimator.RunOption(nil)} {
		if _, err := e.Train(t.Context(), &toyData{}, o); err == nil || !strings.Contains(err.Error(), "an option is nil") {
			t.Errorf("got %v, expected an error that says so", err)
		}
	}
	if _, err := estimator.NewInMemoryEvaluator(e, &toyData{}, 1, estimator.CheckpointPath("model.ckpt-1")); err == nil || !strings.Contains(err.Error(), "leave CheckpointPath out") {
		t.Errorf("got %v, expected that a checkpoint is refused", err)
	}
}

// TestSecondOptimizer: an optimizer that the model_fn does not use is an error, not ignored.
func TestSecondOptimizer(t *testing.T) {
	sgd := optimizers.SGD(0.1)
	e := toy(t, t.TempDir(), estimator.WithOptimizer(sgd))
	if _, err := e.Train(t.Context(), &toyData{}); err == nil || !strings.Contains(err.Error(), "has an optimizer of its own: leave WithOptimizer out") {
		t.Errorf("got %v, expected an error that says so", err)
	}
	e = toy(t, t.TempDir(), estimator.WithDefaultOptimizer(sgd))
	if _, err := e.Train(t.Context(), &toyData{}, estimator.MaxSteps(2)); err != nil {
		t.Errorf("a default stands against the model_fn's own: %v", err)
	}
	e = toy(t, t.TempDir(), estimator.WithDefaultOptimizer(sgd), estimator.WithOptimizer(sgd))
	if _, err := e.Train(t.Context(), &toyData{}); err == nil || !strings.Contains(err.Error(), "leave WithOptimizer out") {
		t.Errorf("WithOptimizer after WithDefaultOptimizer: got %v, expected an error that says so", err)
	}
}
