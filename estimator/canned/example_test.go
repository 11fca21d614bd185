package canned_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// A linear model learns which trades earn more.
func Example() {
	dir, err := os.MkdirTemp("", "canned-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	data := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil,
			inputs.Strings("job", inputs.Feature, []string{"baker", "nurse", "smith", "baker"}),
			inputs.Slice("income", inputs.Label, []int64{0, 1, 1, 0}))
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(4, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	})
	job := &feature.Vocabulary{Key: "job", Values: []string{"baker", "nurse", "smith"}}
	est, err := canned.LinearClassifier{Columns: []feature.Column{job}}.New(
		estimator.WithModelDir(dir), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer est.Close()
	if _, err := est.Train(context.Background(), data, estimator.Steps(100)); err != nil {
		fmt.Println(err)
		return
	}
	result, err := est.Evaluate(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	accuracy, _ := result.Scalar("accuracy")
	fmt.Printf("accuracy %.2f after %d steps\n", accuracy, result.GlobalStep)
	// Output: accuracy 1.00 after 100 steps
}
