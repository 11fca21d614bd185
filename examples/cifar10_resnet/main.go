// Command cifar10_resnet trains a residual network on CIFAR-10 with the strategy that its flags name, alone or in the role
// that TF_CONFIG assigns. Without a data folder it trains on generated images.
//
//	go build -o /tmp/cifar10_resnet ./examples/cifar10_resnet
//	go run ./cmd/goestimator data download cifar10 --dir data/cifar-10
//	/tmp/cifar10_resnet --data_dir data/cifar-10 --strategy mirrored --replicas 2 --resnet_size 20 --batch_size 128 --train_steps 1560
//	go run ./cmd/goestimator launch --chief 1 --workers 1 --ps 1 --evaluator 1 -- /tmp/cifar10_resnet --strategy parameter_server --sync
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"
	"syscall"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// flags are the command line's flags.
type flags struct {
	dataDir, modelDir     string
	strategy              runconfig.Strategy
	resnetSize, batchSize int
	trainSteps            int64
	learningRate          float64
	momentum, weightDecay float64
}

func parse() (f flags) {
	flag.StringVar(&f.dataDir, "data_dir", "", "folder of CIFAR-10's binary version; empty: images are drawn")
	flag.StringVar(&f.modelDir, "model_dir", "runs/cifar10_resnet", "folder of checkpoints and events")
	flag.StringVar(&f.strategy.Name, "strategy", "default", "default, one_device, mirrored, central_storage, multi_worker_mirrored or parameter_server")
	flag.IntVar(&f.strategy.Replicas, "replicas", 0, "of this process, under mirrored, central_storage, multi_worker_mirrored and parameter_server; 0: one for each GPU")
	flag.BoolVar(&f.strategy.Sync, "sync", false, "parameter_server: the workers make each step together")
	flag.IntVar(&f.resnetSize, "resnet_size", 20, "layers, 6n+2")
	flag.IntVar(&f.batchSize, "batch_size", 128, "images of a step, over all replicas")
	flag.Int64Var(&f.trainSteps, "train_steps", 1560, "steps")
	flag.Float64Var(&f.learningRate, "learning_rate", 0.1, "at the beginning, for a batch of 128")
	flag.Float64Var(&f.momentum, "momentum", 0.9, "of the optimizer")
	flag.Float64Var(&f.weightDecay, "weight_decay", 2e-4, "of all variables but batch normalization's")
	flag.Parse()
	return f
}

// check returns an error for flags that cannot be used.
func (f flags) check() error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: flags begin with -", flag.Arg(0))
	case f.batchSize <= 0 || f.trainSteps <= 0:
		return fmt.Errorf("batch_size %d, train_steps %d: expected positive numbers", f.batchSize, f.trainSteps)
	}
	return checkSize(f.resnetSize)
}

// firstLoss records the loss of this process's first step.
type firstLoss struct {
	hooks.Base
	value float64
}

func (h *firstLoss) Begin(s hooks.Setup) error { return s.Fetch("loss") }

func (h *firstLoss) AfterRun(_ context.Context, r hooks.Run) error {
	if !math.IsNaN(h.value) {
		return nil
	}
	v, err := r.Value("loss")
	if err == nil {
		h.value = v.Float(0)
	}
	return err
}

func run(ctx context.Context, f flags) error {
	if err := f.check(); err != nil {
		return runconfig.Mistake(err)
	}
	rc, err := runconfig.New(runconfig.ModelDir(f.modelDir), runconfig.TFRandomSeed(7), runconfig.SaveCheckpointsSteps(max(f.trainSteps/4, 1)),
		runconfig.ExperimentalMaxWorkerDelaySecs(0), runconfig.TrainDistribute(f.strategy))
	if err != nil {
		return err
	}
	est, err := estimator.New(estimator.ModelFunc(f.modelFn), estimator.WithRunConfig(rc))
	if err != nil {
		return err
	}
	defer est.Close()
	first, input := &firstLoss{value: math.NaN()}, estimator.InputFunc(f.inputFn)
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: f.trainSteps, Hooks: []hooks.Hook{first}}, estimator.EvalSpec{Input: input})
	if err != nil {
		return err
	}
	if res.LossRead {
		fmt.Printf("%s: loss %.3f at first, %.3f at step %d\n", rc.TaskType(), first.value, res.Loss, res.GlobalStep)
	}
	if res.Eval == nil {
		return nil // not every role evaluates
	}
	accuracy, ok := res.Eval.Scalar("accuracy")
	if !ok {
		return errors.New("the evaluation has no accuracy")
	}
	fmt.Printf("resnet-%d, %s: accuracy %.4f, above 0.5: %v\n", f.resnetSize, f.strategy.Name, accuracy, accuracy > 0.5)
	return nil
}

func main() {
	f := parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, f)
	if err != nil {
		log.Print(err)
	}
	os.Exit(estimator.ExitCode(err))
}
