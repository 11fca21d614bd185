package estimator_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// TestResumeLogsVariablesThatTheModelLost: training continues with a warning if the network has a layer less, and without one if another optimizer has other slots.
func TestResumeLogsVariablesThatTheModelLost(t *testing.T) {
	dir := t.TempDir()
	train := func(steps int64, rule *optimizers.Optimizer, units ...int) string {
		t.Helper()
		var log bytes.Buffer
		e := custom(t, heads.Regression(1).Of(networks.MLP(units...)), dir, estimator.WithOptimizer(rule), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if _, err := e.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(steps)); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	const warning = "variables that this model does not have"
	train(2, optimizers.Adam(0.01), 1, 1)
	if log := train(4, optimizers.SGD(0.01), 1, 1); strings.Contains(log, warning) {
		t.Errorf("the same network with another optimizer: %s", log)
	}
	if log := train(6, optimizers.SGD(0.01), 1); !strings.Contains(log, warning) || !strings.Contains(log, "variables=1") && !strings.Contains(log, "variables=2") {
		t.Errorf("a network of a layer less: %s", log)
	}
}

// TestUnusedWeights: an evaluation, prediction or export by a network of a layer less warns, once; by the trained network it does not, whatever slots its
// optimizer has.
func TestUnusedWeights(t *testing.T) {
	const warning = "trained weights that this model does not use"
	for name, rule := range map[string]*optimizers.Optimizer{"v1": optimizers.Adam(0.01), "keras": optimizers.Adam(0.01, optimizers.WithKeras())} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			of := func(units ...int) (*estimator.Estimator, *bytes.Buffer) {
				var log bytes.Buffer
				return custom(t, heads.Regression(1).Of(networks.MLP(units...)), dir, estimator.WithOptimizer(rule), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), &log
			}
			trained, trainLog := of(1, 1)
			if _, err := trained.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(2)); err != nil {
				t.Fatal(err)
			}
			uses := []func(e *estimator.Estimator) error{
				func(e *estimator.Estimator) error { _, err := e.Evaluate(t.Context(), &toyData{}); return err },
				func(e *estimator.Estimator) error {
					for _, err := range e.Predict(t.Context(), &toyData{}) {
						if err != nil {
							return err
						}
					}
					return nil
				},
				func(e *estimator.Estimator) error {
					columns, err := e.ServingColumns(context.Background(), &toyData{})
					if err == nil {
						_, err = e.ExportSavedModel(t.Context(), t.TempDir(), estimator.RawServingInput(columns...))
					}
					return err
				},
			}
			for i, use := range uses {
				if err := use(trained); err != nil {
					t.Fatal(i, err)
				}
				smaller, log := of(1)
				for range 2 {
					if err := use(smaller); err != nil {
						t.Fatal(i, err)
					}
				}
				if n := strings.Count(log.String(), warning); n != 1 || !strings.Contains(log.String(), "variables=2") {
					t.Errorf("use %d of a network of a layer less: %d warnings, expected one of two variables: %s", i, n, log)
				}
			}
			if strings.Contains(trainLog.String(), warning) {
				t.Errorf("the trained network: %s", trainLog)
			}
		})
	}
}

// TestResumeWithoutKerasSlots: slots with the names of Keras are no lost variables.
func TestResumeWithoutKerasSlots(t *testing.T) {
	dir := t.TempDir()
	for i, rule := range []*optimizers.Optimizer{optimizers.Adam(0.01, optimizers.WithKeras()), optimizers.SGD(0.01)} {
		var log bytes.Buffer
		e := custom(t, heads.Regression(1).Of(networks.MLP(1)), dir, estimator.WithOptimizer(rule), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if _, err := e.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(int64(2*i+2))); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "variables that this model does not have") {
			t.Errorf("training %d: %s", i, log.String())
		}
	}
}
