// Command networks trains a network on generated data, checks that it reaches a given metric, and may export it:
//
//	go run ./examples/networks -network unet -export runs/export
//	go run ./cmd/goestimator serve --model unet=runs/export
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// task is a network, its data and the metric that it must reach.
type task struct {
	model  estimator.ModelFn
	input  func(ic inputs.Context) (*rows, error) // all examples of a mode
	batch  int
	steps  int64
	metric string
	bound  float64 // the metric must be above it, or below if it is a loss
	loss   bool
	adam   float64 // first learning rate of Adam, which decays; 0: the model_fn has an optimizer
}

// rows are examples in memory.
type rows struct {
	slices []inputs.NamedTensor
	count  int
}

// tasks are the networks by name.
func tasks() map[string]task {
	return map[string]task{"text_cnn": textCNN(), "lstm_classifier": lstm(), "resnet50": resnet50(), "unet": unet(), "autoencoder": autoencoder(false), "vae": autoencoder(true),
		"two_tower": twoTower(), "dcn": dcn()}
}

// inputFn returns the examples, repeated in training.
func (t task) inputFn(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	r, err := t.input(ic)
	if err != nil {
		return nil, err
	}
	all, err := inputs.Slices(ic.Allocator, r.slices...)
	if err != nil {
		return nil, err
	}
	if ic.Mode != inputs.Train {
		return inputs.Pipe(all, inputs.Batch(t.batch, false)), nil
	}
	return inputs.Pipe(all, inputs.Shuffle(r.count, ic.Seed), inputs.Repeat(0), inputs.Batch(t.batch, true), inputs.Prefetch(2)), nil
}

// run trains a task, and exports it unless export is empty.
func (t task) run(ctx context.Context, export string) error {
	rc, err := runconfig.New(runconfig.TFRandomSeed(7))
	if err != nil {
		return err
	}
	options := []estimator.Option{estimator.WithRunConfig(rc)}
	if t.adam > 0 {
		falling := optimizers.Cosine{Initial: t.adam, Alpha: 0.05, Steps: t.steps}
		options = append(options, estimator.WithOptimizer(optimizers.Adam(t.adam, optimizers.WithSchedule(falling))))
	}
	est, err := estimator.New(t.model, options...)
	if err != nil {
		return err
	}
	input := estimator.InputFunc(t.inputFn)
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: t.steps}, estimator.EvalSpec{Input: input})
	if err != nil {
		return err
	}
	value, ok := res.Eval.Scalar(t.metric)
	if !ok {
		return fmt.Errorf("the evaluation has no %s", t.metric)
	}
	log.Printf("%s %.4f", t.metric, value)
	if t.loss {
		fmt.Printf("%s below %v: %v\n", t.metric, t.bound, value < t.bound)
	} else {
		fmt.Printf("%s above %v: %v\n", t.metric, t.bound, value > t.bound)
	}
	if export == "" {
		return est.Close()
	}
	columns, err := est.ServingColumns(ctx, input, models.Predict)
	if err != nil {
		return err
	}
	dir, err := est.ExportSavedModel(ctx, export, estimator.RawServingInput(columns...))
	if err != nil {
		return err
	}
	fmt.Println("exported to", dir)
	return est.Close()
}

func main() {
	all := tasks()
	name := flag.String("network", "text_cnn", fmt.Sprintf("one of %v", slices.Sorted(maps.Keys(all))))
	export := flag.String("export", "", "folder for a SavedModel; empty: none")
	flag.Parse()
	t, ok := all[*name]
	if !ok {
		log.Fatalf("network %q: expected one of %v", *name, slices.Sorted(maps.Keys(all)))
	}
	if err := t.run(context.Background(), *export); err != nil {
		log.Fatal(err)
	}
}
