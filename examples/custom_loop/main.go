// Command custom_loop is a custom training loop that runs unchanged under every
// strategy: alone, or in the role that TF_CONFIG assigns.
//
//	go build -o /tmp/custom_loop ./examples/custom_loop
//	/tmp/custom_loop -strategy mirrored -replicas 2
//	go run ./cmd/goestimator launch --chief 1 --workers 1 -- /tmp/custom_loop -strategy multi_worker_mirrored
//	go run ./cmd/goestimator launch --chief 1 --workers 1 --ps 1 -- /tmp/custom_loop
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const batch = 64 // over all replicas

// net returns the logits of the classes, and the labels.
func net(c *distribute.Context) (logits, labels *G.Node) {
	image := c.Arg("image", tensor.Uint8, 28, 28, 1)
	x := ops.Mul(c, ops.Cast(c, layers.Flatten(c, image), tensor.Float32), ops.Scalar(c, tensor.Float32, 1.0/255))
	logits = layers.Dense(c, layers.Dense(c, x, 64, layers.Weights{Activation: ops.Relu}), 10, layers.Weights{})
	return logits, c.Arg("label", tensor.Int64)
}

// trainStep is one training step: the strategy averages the gradients over replicas.
func trainStep(c *distribute.Context) (distribute.Outputs, error) {
	logits, labels := net(c)
	loss := losses.SparseSoftmaxCrossEntropy(c, labels, logits, losses.Options{})
	return distribute.Outputs{Loss: loss, Train: optimizers.Adam(0.002).Minimize(c, loss)}, nil
}

// evalStep updates the accuracy with a batch.
func evalStep(c *distribute.Context) (distribute.Outputs, error) {
	logits, labels := net(c)
	return distribute.Outputs{Metrics: map[string][]*G.Node{"accuracy": {labels, ops.ArgMax(c, logits, 1)}}}, nil
}

// glyphs is this task's share of the built-in digits.
func glyphs(ctx context.Context, mode inputs.Mode, count int64) func(ic inputs.Context) (inputs.Dataset, error) {
	return func(ic inputs.Context) (inputs.Dataset, error) {
		ic.Mode = mode
		return inputs.Open(ctx, inputs.Spec{Format: "glyphs", Count: count, BatchSize: batch}, ic)
	}
}

// each runs a function on every batch.
func each(ctx context.Context, f *distribute.Function, data *distribute.Input) error {
	it, err := data.Iterate(ctx)
	if err != nil {
		return err
	}
	defer it.Close()
	for {
		next, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := f.Run(ctx, next); err != nil {
			return err
		}
	}
}

func run(ctx context.Context, rc runconfig.RunConfig) (err error) {
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc)
	}
	s, err := distribute.New(rc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	accuracy, err := s.Metric("accuracy", func() (metrics.Accumulator, error) { return metrics.NewAccuracy(), nil })
	if err != nil {
		return err
	}
	train, err := s.Function("train", models.Train, trainStep)
	if err != nil {
		return err
	}
	eval, err := s.Function("eval", models.Eval, evalStep)
	if err != nil {
		return err
	}
	training, err := s.FromFunction(batch, glyphs(ctx, inputs.Train, 10_000))
	if err != nil {
		return err
	}
	held, err := s.FromFunction(batch, glyphs(ctx, inputs.Eval, 2_000))
	if err != nil {
		return err
	}
	if _, err := s.Restore(ctx); err != nil {
		return err
	}
	for range 3 {
		if err := each(ctx, train, training); err != nil {
			return err
		}
		if err := accuracy.Reset(ctx); err != nil {
			return err
		}
		if err := each(ctx, eval, held); err != nil {
			return err
		}
		if _, err := s.Save(ctx); err != nil {
			return err
		}
	}
	v, err := accuracy.Result(ctx)
	if err != nil {
		return err
	}
	share, _ := v.Scalar()
	log.Printf("accuracy %.4f", share)
	fmt.Printf("%s, %d replicas in sync: accuracy above 0.9: %v\n", s.Name(), s.NumReplicasInSync(), share > 0.9)
	return nil
}

func main() {
	modelDir := flag.String("model-dir", "runs/custom_loop", "folder of checkpoints")
	strategy := flag.String("strategy", "default", "default, one_device, mirrored, central_storage, multi_worker_mirrored or parameter_server")
	replicas := flag.Int("replicas", 0, "of this process, under mirrored, central_storage, multi_worker_mirrored and parameter_server; 0: one for each GPU")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Printf("unexpected argument %q: flags begin with -", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rc, err := runconfig.New(runconfig.ModelDir(*modelDir), runconfig.TFRandomSeed(7), runconfig.TrainDistribute(runconfig.Strategy{Name: *strategy, Replicas: *replicas}))
	if err == nil {
		err = run(ctx, rc)
	}
	if err != nil {
		log.Print(err)
	}
	os.Exit(estimator.ExitCode(err))
}
