// Command channel_input trains on rows that arrive on a channel, as from a queue or
// from database/sql: a linear regression of a power plant's output.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// measure sends n measurements, or fewer if ctx ends before.
func measure(ctx context.Context, n int, rows chan<- inputs.Row) {
	defer close(rows)
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		wind, sun := r.Float64(), r.Float64()
		select {
		case rows <- inputs.Row{"wind": wind, "sun": sun, "power": 2*wind + 3*sun + 1}:
		case <-ctx.Done():
			return
		}
	}
}

func input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	count := 500
	if ic.Mode == inputs.Train {
		count = 64 * 2000
	}
	ds, err := inputs.Generator(func(ctx context.Context) iter.Seq2[inputs.Row, error] {
		rows := make(chan inputs.Row)
		go measure(ctx, count, rows)
		return inputs.RowsOf(rows)(ctx)
	}, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "wind"}, {Name: "sun"}, {Name: "power", Role: inputs.Label}}})
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(64, false), inputs.Prefetch(2)), nil
}

func main() {
	ctx, in := context.Background(), estimator.InputFunc(input)
	est, err := estimator.New(heads.Regression(1).Of(networks.Linear()), estimator.WithOptimizer(optimizers.Adam(0.05)))
	if err != nil {
		log.Fatal(err)
	}
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: in, MaxSteps: 2000}, estimator.EvalSpec{Input: in})
	if err != nil {
		log.Fatal(err)
	}
	rmse, _ := res.Eval.Scalar("rmse")
	fmt.Printf("rmse below 0.05: %v\n", rmse < 0.05)
}
