package interop_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// straight is a linear regression with batch normalisation and dropout, which depend on the mode.
func straight(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := layers.BatchNorm(mc, features.Dense("pair"), layers.Norm{})
	y := layers.Dense(mc, layers.Dropout(mc, x, 0.5), 1, layers.Weights{})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
	if mc.Mode() == models.Train {
		o := optimizers.SGD(0.1)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// TestModesAreServed also exports the graphs of evaluation and training, and runs
// saved_model_cli to show and run the model.
func TestModesAreServed(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes long (GOESTIMATOR_ACCEPT=1, make parity)")
	}
	py, dir, d := peers(t), t.TempDir(), cannedData(40)
	in := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		columns := []inputs.NamedTensor{{Name: "pair", Role: inputs.Feature, Tensor: d["pair"]}}
		if ic.Mode != inputs.Predict {
			columns = append(columns, inputs.NamedTensor{Name: "label_number", Role: inputs.Label, Tensor: d["label_number"]})
		}
		ds, err := inputs.Slices(nil, columns...)
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(20, false)), nil
	})
	e := job{dir: filepath.Join(dir, "model")}.estimatorOf(t, estimator.ModelFunc(straight))
	if _, err := e.Train(t.Context(), in, estimator.MaxSteps(4)); err != nil {
		t.Fatal(err)
	}
	columns := []inputs.Column{{Name: "pair", DType: tensor.Float32, Shape: []int{2}}, {Name: "label_number", DType: tensor.Float32, Role: inputs.Label}}
	model, err := e.ExportSavedModel(t.Context(), dir, estimator.RawServingInput(columns...), estimator.ExportModes(models.Eval, models.Train))
	if err != nil {
		t.Fatal(err)
	}
	feeds := save(t, filepath.Join(dir, "feeds"), map[string]*tensor.Tensor{"pair": d["pair"], "label_number": d["label_number"]})
	want := save(t, filepath.Join(dir, "want"), predictions(t, e, in))
	py.run(t, "export_modes.py", model, feeds, want)
}
