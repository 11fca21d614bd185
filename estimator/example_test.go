package estimator_test

import (
	"context"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// lineModel is y = a*x + b.
func lineModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	y := layers.Dense(mc, features.Dense("x"), 1, layers.Weights{KernelInit: initializers.Zeros()})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
	if mc.Mode() != models.Predict {
		spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
	}
	if mc.Mode() == models.Train {
		sgd := optimizers.SGD(0.1)
		spec.TrainOp = sgd.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// linePoints are four points of y = 2x + 1.
func linePoints(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ds, err := inputs.Slices(ic.Allocator,
		inputs.Slice("x", inputs.Feature, []float32{0, 1, 2, 3}, 1),
		inputs.Slice("y", inputs.Label, []float32{1, 3, 5, 7}, 1))
	if err != nil {
		return nil, err
	}
	if ic.Mode == models.Train {
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(4, false)), nil
}

// A model_fn and an input_fn are all that training needs: here, a line through
// four points.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	est, err := estimator.New(estimator.ModelFunc(lineModel), estimator.WithModelDir(dir))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer est.Close()
	res, err := est.Train(ctx, estimator.InputFunc(linePoints), estimator.MaxSteps(500))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("step", res.GlobalStep, res.StopReason)
	for p, err := range est.Predict(ctx, estimator.InputFunc(linePoints)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.2f ", tensor.Values[float32](p.Get("y"))[0])
	}
	// Output:
	// step 500 max_steps
	// 1.00 3.00 5.00 7.00
}

// A custom loop, here over two local replicas.
func ExampleOpenLoop() {
	rc, err := runconfig.New(runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 2}))
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	loop, err := estimator.OpenLoop(ctx, estimator.ModelFunc(lineModel), estimator.InputFunc(linePoints),
		estimator.WithRunConfig(rc), estimator.WithModelDir(dir))
	if err != nil {
		fmt.Println(err)
		return
	}
	for loop.GlobalStep() < 500 {
		if ok, err := loop.Step(ctx); !ok || err != nil {
			fmt.Println(ok, err)
			break
		}
	}
	fmt.Printf("step %d, %d replicas, loss %.4f\n", loop.GlobalStep(), loop.Replicas().InSync, loop.Loss())
	if err := loop.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// step 500, 2 replicas, loss 0.0000
}
