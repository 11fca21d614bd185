package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// A custom loop under mirrored: two replicas make each step.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// trained 50 steps
	// y(2) is near 5: true
}

func example(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "loop-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rc, err := runconfig.New(runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 2}))
	if err != nil {
		return err
	}
	s, err := distribute.New(rc)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	line, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{-1, 0, 1, 2}, 1), inputs.Slice("y", inputs.Label, []float32{-1, 1, 3, 5}, 1))
	if err != nil {
		return err
	}
	data, err := s.Distribute(inputs.Pipe(line, inputs.Repeat(50)), 4, distribute.ShardRows)
	if err != nil {
		return err
	}
	sgd := optimizers.SGD(0.2)
	train, err := s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		y := layers.Dense(c, c.Arg("x", tensor.Float32, 1), 1, layers.Weights{})
		loss := losses.MeanSquaredError(c, c.Arg("y", tensor.Float32, 1), y, losses.Options{})
		return distribute.Outputs{Loss: loss, Train: sgd.Minimize(c, loss)}, nil
	})
	if err != nil {
		return err
	}
	it, err := data.Iterate(ctx)
	if err != nil {
		return err
	}
	for {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if _, err := train.Run(ctx, batch); err != nil {
			return err
		}
	}
	fmt.Println("trained", s.GlobalStep(), "steps")
	w, err := s.Variable("dense/kernel")
	if err != nil {
		return err
	}
	b, err := s.Variable("dense/bias")
	if err != nil {
		return err
	}
	y := 2*w.Float(0) + b.Float(0)
	fmt.Println("y(2) is near 5:", y > 4.9 && y < 5.1)
	return nil
}
