package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// The chief schedules steps on two workers, over variables on a parameter server. Here
// the tasks are goroutines; in a cluster each is a process of this program.
func ExampleCoordinator() {
	err := inprocess.Run(context.Background(), inprocess.Tasks{Chief: 1, Workers: 2, PS: 1}, runLine,
		runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server"}))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// trained 100 steps
	// the loss is small: true
}

// runLine is the program of every task.
func runLine(ctx context.Context, rc runconfig.RunConfig) error {
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc, quiet)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		return err
	}
	data, err := s.WorkerDataset("line", func(inputs.Context) (inputs.Dataset, error) {
		line, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{-1, 0, 1, 2}, 1), inputs.Slice("y", inputs.Label, []float32{-1, 1, 3, 5}, 1))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(line, inputs.Repeat(-1), inputs.Batch(4, false)), nil
	})
	if err != nil {
		return err
	}
	step, err := lineStep(s)
	if err != nil {
		return err
	}
	if s.IsChief() {
		err = scheduleSteps(ctx, s, step, data)
	} else {
		err = s.Work(ctx)
	}
	return errors.Join(err, s.Close(ctx))
}

// lineStep is one step of training, which returns its loss.
func lineStep(s *distribute.Strategy) (*distribute.Remote, error) {
	sgd := optimizers.SGD(0.1)
	train, err := s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		y := layers.Dense(c, c.Arg("x", tensor.Float32, 1), 1, layers.Weights{})
		loss := losses.MeanSquaredError(c, c.Arg("y", tensor.Float32, 1), y, losses.Options{})
		return distribute.Outputs{Loss: loss, Train: sgd.Minimize(c, loss)}, nil
	})
	if err != nil {
		return nil, err
	}
	return s.Remote("step", func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		it, err := call.Iterator(0)
		if err != nil {
			return nil, err
		}
		batch, err := it.Next(ctx)
		if err != nil {
			return nil, err
		}
		res, err := train.Run(ctx, batch)
		if err != nil {
			return nil, err
		}
		return []*tensor.Tensor{tensor.Scalar(res.Loss())}, nil
	})
}

// scheduleSteps is the chief's loop.
func scheduleSteps(ctx context.Context, s *distribute.Strategy, step *distribute.Remote, data *distribute.WorkerDataset) error {
	c, err := distribute.NewCoordinator(ctx, s)
	if err != nil {
		return err
	}
	perWorker := c.CreatePerWorkerDataset(data)
	var loss *distribute.RemoteValue
	for range 100 {
		if loss, err = c.Schedule(ctx, step, perWorker); err != nil {
			return err
		}
	}
	if err := c.Join(ctx); err != nil {
		return err
	}
	last, err := loss.Fetch(ctx)
	if err != nil {
		return err
	}
	steps, err := s.Variable("global_step")
	if err != nil {
		return err
	}
	fmt.Println("trained", steps.Int(0), "steps")
	fmt.Println("the loss is small:", last[0].Float(0) < 0.01)
	return c.Close(ctx)
}
