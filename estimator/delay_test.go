package estimator_test

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
)

// TestEndedBeforeItsDelay: a worker that is interrupted while it waits for the chief to start does not open
// its input.
func TestEndedBeforeItsDelay(t *testing.T) {
	rc, err := runconfig.FromTFConfig(`{"cluster":{"chief":["127.0.0.1:1"],"worker":["127.0.0.1:2"],"ps":["127.0.0.1:3"]},"task":{"type":"worker","index":0}}`,
		runconfig.ModelDir(t.TempDir()), runconfig.ExperimentalMaxWorkerDelaySecs(60), runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server"}))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	input := &toyData{}
	_, err = estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: input, MaxSteps: 5}, estimator.EvalSpec{Input: &toyData{}})
	if err == nil || input.opened != 0 {
		t.Errorf("got %v, the input was opened %d times, expected an error and none", err, input.opened)
	}
}
