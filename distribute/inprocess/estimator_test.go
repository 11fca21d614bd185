package inprocess_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// lineModel is a model_fn that learns y = 2x + 1.
func lineModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	y := layers.Dense(mc, features.Only(), 1, layers.Weights{})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}, Loss: losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})}
	if mc.Mode() == models.Train {
		spec.TrainOp = optimizers.SGD(0.1).Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// lineInput is points of the line, repeated forever in training.
func lineInput(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	points, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{-1, 0, 1, 2}, 1), inputs.Slice("y", inputs.Label, []float32{-1, 1, 3, 5}, 1))
	if err != nil {
		return nil, err
	}
	n := 1
	if ic.Mode == inputs.Train {
		n = 0
	}
	return inputs.Pipe(points, inputs.Repeat(n), inputs.Batch(4, false)), nil
}

// TestEstimator: an Estimator's train_and_evaluate runs in all tasks, including the evaluator.
func TestEstimator(t *testing.T) {
	for _, tasks := range []inprocess.Tasks{{Chief: 1, Workers: 1, PS: 1, Evaluator: 1}, {Chief: 1, Workers: 1, Evaluator: 1}} {
		strategy := "parameter_server"
		if tasks.PS == 0 {
			strategy = "multi_worker_mirrored"
		}
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			loss := make(chan float64, 1) // of the evaluator
			err := inprocess.Run(bounded(t), tasks, func(ctx context.Context, rc runconfig.RunConfig) error {
				est, err := estimator.New(estimator.ModelFunc(lineModel), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					return err
				}
				input := estimator.InputFunc(lineInput)
				res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: 100}, estimator.EvalSpec{Input: input})
				if res.Eval != nil && rc.TaskType() == runconfig.Evaluator {
					last, _ := res.Eval.Scalar("loss")
					loss <- last
				}
				return errors.Join(err, est.Close())
			}, options(t.TempDir(), strategy)...)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case last := <-loss:
				if last > 0.01 {
					t.Errorf("loss %v, expected to learn", last)
				}
			default:
				t.Error("the evaluator has no result")
			}
		})
	}
}
