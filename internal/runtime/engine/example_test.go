package engine_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// A program that multiplies rows by a variable and counts its runs.
func Example() {
	dev := device.NewHost()
	vars, err := engine.NewVariables(dev)
	check(err)
	check(vars.Create("w", tensor.Scalar(float32(3))))
	check(vars.Create("global_step", tensor.Scalar(int64(0))))

	g := graph.New()
	b := graph.NewBuilder(g)
	scalar, rows := graph.Type{DType: tensor.Float32}, graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(2)}
	x := b.Placeholder("x", rows)
	y := b.Op("Mul", "y", rows, nil, x, b.Read(b.Variable("w", scalar), scalar))
	step := b.Variable("global_step", graph.Type{DType: tensor.Int64})
	count := b.Node("AssignAddVariableOp", "count", nil, nil, step, b.Scalar("one", tensor.Int64, 1))
	check(b.Err())

	spec := engine.Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}, Targets: []*graph.Node{count}}
	p, err := engine.Compile(g, spec, dev, vars, engine.Options{Capacity: 32})
	check(err)
	feed, err := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	check(err)
	check(p.Run(context.Background(), 2, []*tensor.Tensor{feed}))
	fmt.Println(p.Value(0).Shape, tensor.Values[float32](p.Value(0)))

	n, err := vars.Get("global_step")
	check(err)
	fmt.Println("runs:", tensor.Values[int64](n)[0])
	// Output:
	// [2 2] [3 6 9 12]
	// runs: 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
