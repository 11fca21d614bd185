package estimator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
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

// TestIndexOutOfRange: an id that a table does not have is named with its row, if it is the input's and not one that the model computed.
func TestIndexOutOfRange(t *testing.T) {
	for name, c := range map[string]struct {
		id    int64 // in row 21 of ids
		shift float64
		evals bool
		two   bool // replicas
		want  string
		not   string
	}{
		"train":             {id: 10, want: `the input has an id out of range: row 22: column "ids": value 10: expected 0 <= id < 10 (embedding/GatherV2)`},
		"the last id":       {id: 9},
		"negative":          {id: -1, want: `row 22: column "ids": value -1: expected 0 <= id < 10`},
		"evaluation":        {id: 11, evals: true, want: `row 22: column "ids": value 11`},
		"two replicas":      {id: 12, two: true, want: `row 22: column "ids": value 12`},
		"the model made it": {id: 9, shift: 1, want: "index 10 at position", not: "the input has"},
	} {
		t.Run(name, func(t *testing.T) {
			ids, other, y := make([]int64, 80), make([]int64, 40), make([]float32, 40)
			ids[2*21+1] = c.id
			for i := range other {
				other[i] = c.id // not an id
			}
			in := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
				ds, err := inputs.Slices(nil, inputs.Slice("a", inputs.Feature, other, 1), inputs.Slice("ids", inputs.Feature, ids, 2), inputs.Slice("y", inputs.Label, y, 1))
				if err != nil || ic.Mode != models.Train {
					return inputs.Pipe(ds, inputs.Batch(4, false)), err
				}
				return inputs.Pipe(ds, inputs.Shuffle(40, 3), inputs.Repeat(0), inputs.Batch(4, false)), nil
			})
			fn := func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
				tokens := ops.Cast(mc, f.Dense("ids"), tensor.Int32)
				if c.shift != 0 {
					tokens = ops.Add(mc, tokens, ops.Scalar(mc, tensor.Int32, c.shift))
				}
				x := ops.Mean(mc, layers.Embedding(mc, tokens, 10, 3, layers.Weights{}), ops.Axes(1))
				out := ops.Add(mc, layers.Dense(mc, x, 1, layers.Weights{}), ops.Cast(mc, f.Dense("a"), tensor.Float32))
				spec := &estimator.Spec{Predictions: estimator.Nodes{"y": out}, Loss: losses.MeanSquaredError(mc, l.Only(), out, losses.Options{})}
				if mc.Mode() == models.Train {
					o := optimizers.SGD(0.0001)
					spec.TrainOp = o.Minimize(mc, spec.Loss)
				}
				return spec, nil
			}
			var opts []runconfig.Option
			if c.two {
				opts = append(opts, runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 2}))
			}
			e := newEstimator(t, estimator.ModelFunc(fn), t.TempDir(), opts...)
			var err error
			if c.evals {
				_, err = e.Evaluate(t.Context(), in)
			} else {
				_, err = e.Train(t.Context(), in, estimator.MaxSteps(10))
			}
			switch {
			case c.want == "":
				if err != nil {
					t.Fatal(err)
				}
			case err == nil || !strings.Contains(err.Error(), c.want) || c.not != "" && strings.Contains(err.Error(), c.not):
				t.Fatalf("got %v, expected %s", err, c.want)
			case !errors.As(err, new(*engine.IndexError)):
				t.Errorf("%v does not wrap what the step met", err)
			}
		})
	}
}
