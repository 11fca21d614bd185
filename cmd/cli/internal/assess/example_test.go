package assess_test

import (
	"context"
	"fmt"
	"iter"
	"log"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// A model that always predicts 2.
func ExampleRun() {
	always := func(ctx context.Context, input estimator.InputFn, _ int64) iter.Seq2[estimator.Prediction, error] {
		return func(yield func(estimator.Prediction, error) bool) {
			ds, err := input.Input(ctx, inputs.Context{})
			if err != nil {
				yield(estimator.Prediction{}, err)
				return
			}
			it, err := ds.Iterate(ctx)
			if err != nil {
				yield(estimator.Prediction{}, err)
				return
			}
			defer it.Close()
			for rec, err := it.Next(ctx); err == nil; rec, err = it.Next(ctx) {
				for range rec.NumRows() {
					yield(estimator.PredictionOf(map[string]*tensor.Tensor{"predictions": tensor.Scalar(2.0)}), nil)
				}
				rec.Release()
			}
		}
	}
	input := estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float64{1, 2, 3}), inputs.Slice("y", inputs.Label, []float64{2, 2, 5}))
		return inputs.Pipe(ds, inputs.Batch(2, false)), err
	})
	r, err := assess.Run(context.Background(), always, input, assess.Options{Worst: 1})
	if err != nil {
		log.Fatal(err)
	}
	worst := r.Heads[0].Worst[0]
	fmt.Printf("mae %v, worst: row %d, label %s, predicted %s\n", r.Heads[0].Regression.MAE, worst.Row, worst.Label, worst.Predicted)
	// Output: mae 1, worst: row 2, label 5, predicted 2
}
