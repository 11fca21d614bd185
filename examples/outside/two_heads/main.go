// Command two_heads trains one network with two heads: whether a point lies in
// the unit circle, and its distance from the centre.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

func input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	const n = 4000
	r := rand.New(rand.NewPCG(7, uint64(len(ic.Mode))))
	points, inside, distance := make([]float32, 2*n), make([]int64, n), make([]float32, n)
	for i := range n {
		x, y := 3*r.Float64()-1.5, 3*r.Float64()-1.5
		points[2*i], points[2*i+1], distance[i] = float32(x), float32(y), float32(math.Hypot(x, y))
		if distance[i] < 1 {
			inside[i] = 1
		}
	}
	ds, err := inputs.Slices(nil, inputs.Slice("point", inputs.Feature, points, 2),
		inputs.Slice("inside", inputs.Label, inside), inputs.Slice("distance", inputs.Label, distance))
	if err != nil {
		return nil, err
	}
	if ic.Mode == inputs.Train {
		return inputs.Pipe(ds, inputs.Shuffle(n, 1), inputs.Repeat(0), inputs.Batch(64, true)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(500, false)), nil
}

func main() {
	head := heads.Multi(heads.BinaryClass(heads.WithName("inside")), heads.Regression(1, heads.WithName("distance")))
	est, err := estimator.New(head.Of(networks.MLP(32, 32)), estimator.WithOptimizer(optimizers.Adam(0.01)))
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), estimator.InputFunc(input)
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: in, MaxSteps: 1500}, estimator.EvalSpec{Input: in})
	if err != nil {
		log.Fatal(err)
	}
	accuracy, _ := res.Eval.Scalar("accuracy/inside")
	rmse, _ := res.Eval.Scalar("rmse/distance")
	fmt.Printf("accuracy above 0.95: %v, rmse below 0.15: %v\n", accuracy > 0.95, rmse < 0.15)
}
