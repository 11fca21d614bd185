package ps_test

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Two servers hold a table of four rows; a worker changes one of them.
func Example() {
	job, err := ps.NewLocal(2, 1, ps.ServerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	table := &models.Variable{Name: "table", DType: tensor.Float32, Shape: []int{4, 2}, Init: initializers.Ones()}
	variables := []*models.Variable{table}
	train := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: variables, Rule: rule.SGD{}, LearningRate: optimizers.Constant(0.5)}}}
	plan, err := ps.NewPlan(variables, ps.Config{Servers: 2, Partitioner: ps.FixedShards(2), Train: train})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := job.Client(0, ps.ClientConfig{})
	if err := client.Create(ctx, plan, ps.State{Value: ps.Initial(variables, 1)}); err != nil {
		fmt.Println(err)
		return
	}
	gradient, _ := tensor.FromSlice([]float32{1, 2}, 1, 2)
	reply, err := client.Push(ctx, ps.Push{Step: 0, Gradients: []ps.Gradient{{Variable: "table", Value: gradient, IDs: []int64{3}}}})
	fmt.Println(reply.GlobalStep, err)
	rows := tensor.New(tensor.Float32, 2, 2)
	_, err = client.PullRows(ctx, ps.Rows{Variable: "table", IDs: []int64{3, 0}, Into: rows})
	fmt.Println(tensor.Values[float32](rows), err)
	// Output:
	// 1 <nil>
	// [0.5 0 1 1] <nil>
}
