// Command first is the README's program: a network with a head, trained and
// evaluated on the built-in glyphs.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

func digits(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	return inputs.Open(ctx, inputs.Spec{Format: "glyphs", Count: 20_000, Repeat: ic.Mode == inputs.Train, BatchSize: 64}, ic)
}

func main() {
	est, err := estimator.New(heads.MultiClass(10).Of(networks.MLP(128)), estimator.WithOptimizer(optimizers.Adam(0.002)))
	if err != nil {
		log.Fatal(err)
	}
	input := estimator.InputFunc(digits)
	res, err := estimator.TrainAndEvaluate(context.Background(), est,
		estimator.TrainSpec{Input: input, MaxSteps: 500}, estimator.EvalSpec{Input: input})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("step", res.GlobalStep, "accuracy", res.Eval.Metrics["accuracy"])
}
