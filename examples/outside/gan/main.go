// Command gan trains a generative adversarial network (Goodfellow et al., 2014): a generator
// learns to turn noise into numbers that a discriminator takes for data.
// Each of the two has its own loss and optimizer.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// The data are normally distributed.
const mean, deviation = 3, 0.5

func modelFn(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
	data, noise := features.Dense("data"), features.Dense("noise")
	var made *G.Node
	mc.Scope("generator", func() {
		hidden := layers.Dense(mc, noise, 16, layers.Weights{Activation: ops.Tanh})
		made = layers.Dense(mc, hidden, 1, layers.Weights{})
	})
	score := discriminator(mc)
	ofData, ofMade := score(data), score(made)
	ones, zeros := ops.OnesLike(mc, ofData), ops.ZerosLike(mc, ofMade)
	cost := func(labels, scores *G.Node) *G.Node {
		return losses.SigmoidCrossEntropy(mc, labels, scores, losses.Options{})
	}
	dLoss, gLoss := ops.Add(mc, cost(ones, ofData), cost(zeros, ofMade)), cost(ones, ofMade)
	return &estimator.Spec{
		Predictions: estimator.Nodes{"made": made},
		Loss:        ops.Add(mc, dLoss, gLoss),
		TrainOp: optimizers.MinimizeEach(mc,
			optimizers.Objective{Loss: dLoss, Optimizer: optimizers.Adam(0.005, optimizers.WithBeta1(0.5)), Variables: "discriminator/"},
			optimizers.Objective{Loss: gLoss, Optimizer: optimizers.Adam(0.0005, optimizers.WithBeta1(0.5)), Variables: "generator/"}),
	}, nil
}

// discriminator returns a function that scores examples; all calls share the same variables.
func discriminator(mc *estimator.ModelContext) func(x *G.Node) *G.Node {
	const units = 16
	var w, b, v, c *G.Node
	mc.Scope("discriminator", func() {
		w, b = mc.Variable("hidden/kernel", []int{2, units}), mc.Variable("hidden/bias", []int{units}, models.WithInit(initializers.Zeros()))
		v, c = mc.Variable("score/kernel", []int{units, 1}), mc.Variable("score/bias", []int{1}, models.WithInit(initializers.Zeros()))
	})
	return func(x *G.Node) *G.Node {
		x = ops.Concat(mc, 1, x, ops.Square(mc, x))
		return ops.BiasAdd(mc, ops.MatMul(mc, ops.Tanh(mc, ops.BiasAdd(mc, ops.MatMul(mc, x, w), b)), v), c)
	}
}

func input(context.Context, inputs.Context) (inputs.Dataset, error) {
	const n = 1 << 15
	r := rand.New(rand.NewPCG(1, 2))
	data, noise := make([]float32, n), make([]float32, n)
	for i := range n {
		data[i], noise[i] = float32(mean+deviation*r.NormFloat64()), float32(r.NormFloat64())
	}
	ds, err := inputs.Slices(nil, inputs.Slice("data", inputs.Feature, data, 1), inputs.Slice("noise", inputs.Feature, noise, 1))
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(256, true)), err
}

// moments computes the mean and the standard deviation of the generator's output.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(t *tensor.Tensor) {
	for _, x := range tensor.Values[float32](t) {
		m.n, m.sum, m.squares = m.n+1, m.sum+float64(x), m.squares+float64(x)*float64(x)
	}
}

func (m *moments) result() (mean, deviation float64) {
	mean = m.sum / m.n
	return mean, math.Sqrt(m.squares/m.n - mean*mean)
}

func run(ctx context.Context) error {
	loop, err := estimator.OpenLoop(ctx, estimator.ModelFunc(modelFn), estimator.InputFunc(input))
	if err != nil {
		return err
	}
	defer loop.Close(ctx)
	if err := loop.Fetch("made"); err != nil {
		return err
	}
	var last moments
	for loop.GlobalStep() < 15000 {
		if _, err := loop.Step(ctx); err != nil {
			return err
		}
		if loop.GlobalStep() <= 10000 {
			continue
		}
		made, err := loop.Value("made")
		if err != nil {
			return err
		}
		last.add(made)
	}
	m, d := last.result()
	log.Printf("made: mean %.3f, deviation %.3f", m, d)
	fmt.Printf("mean and deviation are those of the data: %v\n", math.Abs(m-mean) < 0.1 && math.Abs(d-deviation) < 0.1)
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
