package estimator_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// spoilt has 40 rows of x [2], unused and y. One number of a column is bad, or all are.
type spoilt struct {
	all     bool
	column  string
	row, at int
	bad     float64
	foreign bool
}

func (d spoilt) Input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	columns := map[string][]float32{"x": make([]float32, 80), "unused": make([]float32, 40), "y": make([]float32, 40)}
	for name, c := range columns {
		for i := range c {
			c[i] = float32(i%7) / 7
			if name == d.column && d.all {
				c[i] = float32(d.bad)
			}
		}
		if name == d.column {
			c[d.row*len(c)/40+d.at] = float32(d.bad)
		}
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, columns["x"], 2), inputs.Slice("unused", inputs.Feature, columns["unused"]),
		inputs.Slice("y", inputs.Label, columns["y"], 1))
	if err != nil {
		return nil, err
	}
	out := inputs.Pipe(ds, inputs.Shuffle(40, 3), inputs.Repeat(0), inputs.Batch(4, false))
	if ic.Mode != models.Train {
		out = inputs.Pipe(ds, inputs.Batch(4, false))
	}
	if d.foreign {
		return foreign{out}, nil
	}
	return out, nil
}

// foreign is a data set of another package.
type foreign struct{ inputs.Dataset }

// TestSpoiltInput: the error names the value that spoils a step, with its row, if that is in a used column of the
// input.
func TestSpoiltInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for name, c := range map[string]struct {
		in      spoilt
		numeric bool // run.check_numerics
		evals   bool // evaluate instead of training
		two     bool // two replicas
		explode bool // the model itself produces infinities
		want    string
		not     string
	}{
		"loss":              {in: spoilt{column: "x", row: 21, at: 1, bad: nan}, want: `the input is not finite: row 22: column "x": value NaN: not a finite number`},
		"label":             {in: spoilt{column: "y", row: 39, bad: nan}, want: `row 40: column "y": value NaN`},
		"check_numerics":    {in: spoilt{column: "x", row: 0, bad: inf}, numeric: true, want: `: the input is not finite: row 1: column "x": value -Inf`},
		"two replicas":      {in: spoilt{column: "x", row: 7, bad: nan}, numeric: true, two: true, want: `the input is not finite: row 8: column "x": value NaN`},
		"evaluation":        {in: spoilt{column: "x", row: 30, bad: nan}, numeric: true, evals: true, want: `the input is not finite: row 31: column "x": value NaN`},
		"foreign":           {in: spoilt{column: "x", row: 5, bad: nan, foreign: true}, numeric: true, want: `the input is not finite: column "x", row `},
		"the model's":       {in: spoilt{}, numeric: true, explode: true, want: "from finite inputs: lower the learning rate", not: "the input is not finite"},
		"unused, the model": {in: spoilt{column: "unused", all: true, bad: nan}, explode: true, want: "NaN loss during training", not: "the input is not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			fn := func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
				x := f.Dense("x")
				if c.explode {
					x = ops.Log(mc, ops.Sub(mc, x, ops.Scalar(mc, tensor.Float32, 2)))
				}
				y := layers.Dense(mc, x, 1, layers.Weights{})
				spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}, Loss: losses.MeanSquaredError(mc, l.Only(), y, losses.Options{})}
				if mc.Mode() == models.Train {
					o := optimizers.SGD(0.01)
					spec.TrainOp = o.Minimize(mc, spec.Loss)
				}
				return spec, nil
			}
			opts := []runconfig.Option{runconfig.Session(runconfig.SessionConfig{CheckNumerics: c.numeric})}
			if c.two {
				opts = append(opts, runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 2}))
			}
			e := newEstimator(t, estimator.ModelFunc(fn), t.TempDir(), opts...)
			var err error
			if c.evals {
				_, err = e.Evaluate(t.Context(), c.in)
			} else {
				_, err = e.Train(t.Context(), c.in, estimator.MaxSteps(20), estimator.WithHooks(hooks.NewNaN("loss")))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Fatalf("got %v, expected %s", err, c.want)
			}
			var met *engine.NumericsError
			var loss *hooks.NaNLossError
			if !errors.As(err, &met) && !errors.As(err, &loss) {
				t.Errorf("%v does not wrap what the step met", err)
			}
		})
	}
}
