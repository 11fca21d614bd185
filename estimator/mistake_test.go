package estimator_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
)

// TestMistakesOfStrategies: an incompatible cluster and strategy give exit code 2, in each role.
func TestMistakesOfStrategies(t *testing.T) {
	const chiefs, servers = `"chief":["localhost:1"],"worker":["localhost:2"]`, `"ps":["localhost:3"]`
	for name, c := range map[string]struct{ text, strategy string }{
		"servers without use":     {`{"cluster":{` + chiefs + `,` + servers + `},"task":{"type":"worker","index":0}}`, "multi_worker_mirrored"},
		"a server without use":    {`{"cluster":{` + chiefs + `,` + servers + `},"task":{"type":"ps","index":0}}`, "multi_worker_mirrored"},
		"no server":               {`{"cluster":{` + chiefs + `},"task":{"type":"worker","index":0}}`, "parameter_server"},
		"one process":             {`{"cluster":{` + chiefs + `},"task":{"type":"worker","index":0}}`, "mirrored"},
		"one process and servers": {`{"cluster":{` + chiefs + `,` + servers + `},"task":{"type":"worker","index":0}}`, "central_storage"},
		"no cluster":              {``, "parameter_server"},
		"second evaluator":        {`{"cluster":{` + chiefs + `},"task":{"type":"evaluator","index":1}}`, "multi_worker_mirrored"},
		"none such":               {``, "none_such"},
		"tpu":                     {``, "tpu"},
	} {
		t.Run(name, func(t *testing.T) {
			err := trainAs(t, c.text, c.strategy)
			if code := estimator.ExitCode(err); code != estimator.ExitMistake || !errors.Is(err, runconfig.ErrMistake) {
				t.Errorf("%v: exit code %d, expected 2", err, code)
			}
		})
	}
}

// trainAs runs TrainAndEvaluate as a task.
func trainAs(t *testing.T, text, strategy string) error {
	t.Helper()
	rc, err := runconfig.FromTFConfig(text, runconfig.ModelDir(t.TempDir()), runconfig.TrainDistribute(runconfig.Strategy{Name: strategy}), runconfig.SessionCreationTimeoutSecs(30))
	if err != nil {
		return err
	}
	e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer e.Close()
	input := &toyData{rows: 8}
	_, err = estimator.TrainAndEvaluate(context.Background(), e, estimator.TrainSpec{Input: input, MaxSteps: 1}, estimator.EvalSpec{Input: input})
	return err
}
