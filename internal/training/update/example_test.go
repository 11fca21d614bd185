package update_test

import (
	"fmt"
	"log"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// The update of one variable by Adam, as a strategy emits it after the gradient.
func ExampleEmit() {
	adam, err := optimizers.New("adam", map[string]any{"learning_rate": 0.1, "global_clip_norm": 1.0})
	if err != nil {
		log.Fatal(err)
	}
	w := &models.Variable{Name: "w", DType: tensor.Float32, Shape: []int{2}}
	train := &optimizers.TrainOp{
		Groups:     []optimizers.Group{{Variables: []*models.Variable{w}, Rule: adam.Rule, LearningRate: adam.LearningRate}},
		Transforms: adam.Transforms,
	}
	for _, s := range update.Slots(train) {
		fmt.Println("slot", s.Name, s.Type)
	}

	b := graph.NewBuilder(graph.New())
	gradient := b.Placeholder("gradient", graph.TypeOf(tensor.Float32, 2))
	applied, err := update.Emit(train, b, update.Env{
		GlobalStep: b.Scalar("global_step", tensor.Int64, 0),
		Gradients:  []lower.Value{{Output: gradient}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range applied.Targets {
		fmt.Println("run", n.Op, "on", n.Inputs[0])
	}
	fmt.Println("learning rate:", applied.LearningRate.Type())
	// Output:
	// slot w/Adam {float32 [2]}
	// slot w/Adam_1 {float32 [2]}
	// slot beta1_power {float32 []}
	// slot beta2_power {float32 []}
	// run ResourceApplyAdam on w:0
	// run AssignVariableOp on beta1_power:0
	// run AssignVariableOp on beta2_power:0
	// learning rate: {float64 []}
}
