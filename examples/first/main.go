// Command first is the README's program: a network with a head, trained and
// evaluated on the built-in glyphs.
package main

import (
	"context"
	"errors"
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
	network, err1 := networks.New("mlp", map[string]any{"hidden_units": []int{128}})
	head, err2 := heads.NewMultiClass(10)
	adam, err3 := optimizers.New("adam", map[string]any{"learning_rate": 0.002})
	est, err4 := estimator.New(heads.ModelFn(network, head, adam))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
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
