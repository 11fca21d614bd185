// Command cluster trains in the role that TF_CONFIG assigns, without
// goestimator's command line. To start all roles on this machine:
//
//	go build -o /tmp/cluster ./examples/cluster
//	go run ./cmd/goestimator launch --chief 1 --workers 2 --ps 1 --evaluator 1 -- /tmp/cluster -model-dir runs/cluster
//	go run ./cmd/goestimator launch --chief 1 --workers 1 --evaluator 1 -- /tmp/cluster -model-dir runs/ring -strategy multi_worker_mirrored
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

func modelFn(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := ops.Mul(mc, ops.Cast(mc, layers.Flatten(mc, features.Only()), tensor.Float32), ops.Scalar(mc, tensor.Float32, 1.0/255))
	logits := layers.Dense(mc, layers.Dense(mc, x, 64, layers.Weights{Activation: ops.Relu}), 10, layers.Weights{})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"class": ops.ArgMax(mc, logits, 1)}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})
	spec.EvalMetrics = estimator.Metrics{"accuracy": estimator.NewMetric("accuracy", labels.Only(), spec.Predictions["class"])}
	if mc.Mode() == models.Train {
		adam := optimizers.Adam(0.002)
		spec.TrainOp = adam.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// inputFn gives each worker its share, since inputs.Open uses ic.
func inputFn(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	return inputs.Open(ctx, inputs.Spec{Format: "glyphs", Count: 10_000, Repeat: ic.Mode == models.Train, BatchSize: 64}, ic)
}

func run(ctx context.Context, modelDir, strategy string) error {
	rc, err := runconfig.New(runconfig.ModelDir(modelDir), runconfig.TFRandomSeed(7), runconfig.SaveCheckpointsSteps(100),
		runconfig.ExperimentalMaxWorkerDelaySecs(0), runconfig.TrainDistribute(runconfig.Strategy{Name: strategy}))
	if err != nil {
		return err
	}
	est, err := estimator.New(estimator.ModelFunc(modelFn), estimator.WithRunConfig(rc))
	if err != nil {
		return err
	}
	defer est.Close()
	input := estimator.InputFunc(inputFn)
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: 400}, estimator.EvalSpec{Input: input})
	if err != nil || res.Eval == nil {
		return err // not every role evaluates
	}
	accuracy, _ := res.Eval.Scalar("accuracy")
	fmt.Printf("%s: accuracy above 0.9: %v\n", rc.TaskType(), accuracy > 0.9)
	return nil
}

func main() {
	modelDir := flag.String("model-dir", "runs/cluster", "folder of checkpoints and events, that of chief and evaluator")
	strategy := flag.String("strategy", "default", "parameter_server (default where there are ps tasks) or multi_worker_mirrored")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *modelDir, *strategy)
	if err != nil {
		log.Print(err)
	}
	os.Exit(estimator.ExitCode(err))
}
