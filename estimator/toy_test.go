package estimator_test

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// toyModel fits y = w·x + b by gradient descent.
func toyModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	y := layers.Dense(mc, features.Dense("x"), 1, layers.Weights{KernelInit: initializers.Zeros()})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
	spec.EvalMetrics = estimator.Metrics{"rmse": estimator.NewMetric("rmse", labels.Only(), y)}
	if mc.Mode() == models.Train {
		o := optimizers.SGD(0.1)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// toyData is y = 2·x0 - x1 + 0.5 on a small grid, width columns wide, one pass in batches of 4.
type toyData struct {
	width, rows int
	mem         memory.Allocator
	opened      int
	noLabels    bool
	scale       float32
}

func (d *toyData) Input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	d.opened++
	width, rows, scale := max(d.width, 1), d.rows, d.scale
	if d.width == 0 {
		width = 2
	}
	if rows == 0 {
		rows = 10
	}
	if scale == 0 {
		scale = 1
	}
	x, y := make([]float32, rows*width), make([]float32, rows)
	for i := range rows {
		for j := range width {
			x[i*width+j] = scale * float32((i*(j+3))%7) / 7
		}
		y[i] = 2*x[i*width] + 0.5
		if width > 1 {
			y[i] -= x[i*width+1]
		}
	}
	columns := []inputs.NamedTensor{inputs.Slice("x", inputs.Feature, x, width)}
	if !d.noLabels {
		columns = append(columns, inputs.Slice("y", inputs.Label, y, 1))
	}
	ds, err := inputs.Slices(d.mem, columns...)
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(4, false)), nil
}

// forever repeats a data set endlessly when training.
func forever(in estimator.InputFn) estimator.InputFn {
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := in.Input(ctx, ic)
		if err != nil || ic.Mode != inputs.Train {
			return ds, err
		}
		return inputs.Pipe(ds, inputs.Repeat(0)), nil
	})
}

func toy(t *testing.T, dir string, opts ...estimator.Option) *estimator.Estimator {
	t.Helper()
	return custom(t, estimator.ModelFunc(toyModel), dir, opts...)
}

func custom(t *testing.T, fn estimator.ModelFn, dir string, opts ...estimator.Option) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(fn, append([]estimator.Option{estimator.WithRunConfig(rc)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
