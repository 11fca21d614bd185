// Command gorgonia_model trains a model_fn written in raw Gorgonia ops: a
// logistic regression on points in the plane. Variables come from the model
// context, so that they are saved, restored and trained; everything else is
// plain Gorgonia.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

func modelFn(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := features.Dense("x")
	w := mc.Variable("w", []int{2, 1}, models.WithInit(initializers.Zeros()))
	logit, err := G.Mul(x, w)
	if err != nil {
		return nil, err
	}
	p, err := G.Sigmoid(logit)
	if err != nil {
		return nil, err
	}
	spec := &estimator.Spec{Predictions: estimator.Nodes{"probability": p}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	diff, err := G.Sub(p, labels.Only())
	if err != nil {
		return nil, err
	}
	if spec.Loss, err = G.Mean(G.Must(G.Square(diff))); err != nil {
		return nil, err
	}
	spec.EvalMetrics = estimator.Metrics{"auc": estimator.NewMetric("auc", labels.Only(), p)}
	if mc.Mode() == models.Train {
		sgd, err := optimizers.New("sgd", map[string]any{"learning_rate": 1.0})
		if err != nil {
			return nil, err
		}
		spec.TrainOp = sgd.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// inputFn returns points in the plane, and whether they lie above the line y = 2x.
func inputFn(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	r := rand.New(rand.NewPCG(1, uint64(len(ic.Mode))))
	var x, above []float32
	for range 512 {
		a, b := r.Float32()*2-1, r.Float32()*2-1
		x = append(x, a, b)
		if b > 2*a {
			above = append(above, 1)
		} else {
			above = append(above, 0)
		}
	}
	ds, err := inputs.Slices(ic.Allocator, inputs.Slice("x", inputs.Feature, x, 2), inputs.Slice("above", inputs.Label, above, 1))
	if err != nil {
		return nil, err
	}
	if ic.Mode == models.Train {
		return inputs.Pipe(ds, inputs.Shuffle(512, ic.Seed), inputs.Repeat(0), inputs.Batch(32, false)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(100, false)), nil
}

func main() {
	ctx := context.Background()
	est, err := estimator.New(estimator.ModelFunc(modelFn))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := est.Train(ctx, estimator.InputFunc(inputFn), estimator.MaxSteps(500)); err != nil {
		log.Fatal(err)
	}
	res, err := est.Evaluate(ctx, estimator.InputFunc(inputFn))
	if err != nil {
		log.Fatal(err)
	}
	auc, _ := res.Scalar("auc")
	fmt.Printf("auc above 0.99: %v\n", auc > 0.99)
}
