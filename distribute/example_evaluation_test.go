package distribute_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Three replicas evaluate and predict. Every row counts once, though the last batches are not full.
func ExampleEvaluation() {
	ctx := context.Background()
	rc, err := runconfig.New(runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 3}))
	if err != nil {
		log.Fatal(err)
	}
	s, err := distribute.New(rc)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)
	open := func() (inputs.Dataset, error) {
		return inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{1, 2, 3, 4, 5, 6, 7}, 1))
	}
	sizes, err := s.Evaluation("sizes", distribute.EvaluationSpec{
		Build: func(c *distribute.Context) (distribute.Outputs, error) {
			x := c.Arg("x", tensor.Float32, 1)
			return distribute.Outputs{Metrics: map[string][]*G.Node{"mean": {x}, "greatest": {x}}}, nil
		},
		Metrics: map[string]func() (metrics.Accumulator, error){
			"mean":     func() (metrics.Accumulator, error) { return metrics.NewMean(), nil },
			"greatest": func() (metrics.Accumulator, error) { return metrics.NewMax(), nil },
		},
		Data: func(ic inputs.Context) (inputs.Dataset, error) {
			ds, err := open()
			return inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines), inputs.Batch(2, false)), err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	twice, err := s.Function("twice", models.Predict, func(c *distribute.Context) (distribute.Outputs, error) {
		x := c.Arg("x", tensor.Float32, 1)
		return distribute.Outputs{Values: map[string]*G.Node{"twice": ops.Add(c, x, x), "y": layers.Dense(c, x, 1, layers.Weights{})}}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := sizes.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Rows, "rows, mean", res.Metrics["mean"], "greatest", res.Metrics["greatest"])
	rows, err := open()
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range twice.Predict(ctx, inputs.Pipe(rows, inputs.Batch(2, false))) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tensor.Values[float32](batch["twice"]))
	}
	// Output:
	// 7 rows, mean 4 greatest 7
	// [2 4]
	// [6 8]
	// [10 12]
	// [14]
}
