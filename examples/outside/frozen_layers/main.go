// Command frozen_layers reuses a trained layer: a second model starts with the hidden
// layer of a first one, freezes it, and trains only its output layer, on few examples.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// glyphs is the built-in data set; training uses the first count examples.
func glyphs(count int64) estimator.InputFunc {
	return func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		spec := inputs.Spec{Format: "glyphs", Count: 20_000, BatchSize: 64}
		if ic.Mode == inputs.Train {
			spec.Count, spec.Repeat = count, true
		}
		return inputs.Open(ctx, spec, ic)
	}
}

func train(ctx context.Context, dir string, examples, steps int64, opts ...estimator.Option) (*estimator.Estimator, error) {
	opts = append(opts, estimator.WithModelDir(dir), estimator.WithOptimizer(optimizers.Adam(0.002)))
	est, err := estimator.New(heads.MultiClass(10).Of(networks.MLP(128)), opts...)
	if err != nil {
		return nil, err
	}
	_, err = est.Train(ctx, glyphs(examples), estimator.MaxSteps(steps))
	return est, err
}

func run(ctx context.Context, dir string) error {
	first, err := train(ctx, filepath.Join(dir, "first"), 20_000, 500)
	if err != nil {
		return err
	}
	second, err := train(ctx, filepath.Join(dir, "second"), 1_000, 300, estimator.WithFrozen("dense/"),
		estimator.WithWarmStart(estimator.WarmStart{From: first.ModelDir(), Vars: "dense/"}))
	if err != nil {
		return err
	}
	before, err := first.VariableValue("dense/kernel")
	if err != nil {
		return err
	}
	after, err := second.VariableValue("dense/kernel")
	if err != nil {
		return err
	}
	res, err := second.Evaluate(ctx, glyphs(0), estimator.Steps(50))
	if err != nil {
		return err
	}
	accuracy, _ := res.Scalar("accuracy")
	fmt.Printf("frozen layers are as before: %v, accuracy above 0.9: %v\n", bytes.Equal(before.Bytes, after.Bytes), accuracy > 0.9)
	return nil
}

func main() {
	dir, err := os.MkdirTemp("", "frozen-layers-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir); err != nil {
		log.Fatal(err)
	}
}
