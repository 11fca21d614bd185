// Command own_optimizer trains with an update rule and a learning rate schedule that are
// not in the library: Lion (Chen et al., Symbolic Discovery of Optimization Algorithms,
// 2023) and a triangle wave (Smith, Cyclical Learning Rates, 2017). Both are formulas, so
// they run under every strategy, on every device and on parameter servers that do not know them.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// lion moves each weight by the sign of a moving average of its gradients.
func lion(beta1, beta2, decay float64) optimizers.Rule {
	return optimizers.NewRule("Lion", func(u *optimizers.Update) {
		m, g, w := u.Slot("momentum", 0), u.Gradient(), u.Variable()
		direction := m.Times(beta1).Add(g.Times(1 - beta1)).Sign()
		u.Assign(w, w.Sub(u.LearningRate().Mul(direction.Add(w.Times(decay)))))
		u.Assign(m, m.Times(beta2).Add(g.Times(1-beta2)))
	})
}

// triangle rises from low to high in half a period, and falls back in the other half.
type triangle struct{ low, high, period float64 }

// At returns the rate at a step.
func (t triangle) At(step expr.Expr) expr.Expr {
	turns := step.Times(1 / t.period)
	place := turns.Sub(turns.Floor())                     // 0 to 1 within the period
	height := place.Times(2).Plus(-1).Abs().Neg().Plus(1) // 0, 1, 0
	return height.Times(t.high - t.low).Plus(t.low)
}

func input(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	return inputs.Open(ctx, inputs.Spec{Format: "glyphs", Count: 20_000, Repeat: ic.Mode == inputs.Train, BatchSize: 64}, ic)
}

func main() {
	optimizer := optimizers.Of(lion(0.9, 0.99, 0.01), 0, optimizers.WithSchedule(triangle{1e-4, 1e-3, 200}))
	est, err := estimator.New(heads.MultiClass(10).Of(networks.MLP(128)), estimator.WithOptimizer(optimizer))
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), estimator.InputFunc(input)
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: in, MaxSteps: 600}, estimator.EvalSpec{Input: in})
	if err != nil {
		log.Fatal(err)
	}
	accuracy, _ := res.Eval.Scalar("accuracy")
	fmt.Printf("accuracy above 0.9: %v\n", accuracy > 0.9)
}
