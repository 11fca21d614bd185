package estimator_test

import (
	"bytes"
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
