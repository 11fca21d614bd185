package engine_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// A program that multiplies rows by a variable and counts its runs.
func Example() {
	dev := device.NewHost()
	vars, err := engine.NewVariables(dev)
	check(err)
	check(vars.Create("w", graph.ScalarOf(float32(3))))
	check(vars.Create("global_step", graph.ScalarOf(int64(0))))

	g := graph.New()
	b := graph.NewBuilder(g)
	scalar, rows := graph.Type{DType: graph.Float32}, graph.Type{DType: graph.Float32, Shape: graph.BatchOf(2)}
	x := b.Placeholder("x", rows)
	y := b.Op("Mul", "y", rows, nil, x, b.Read(b.Variable("w", scalar), scalar))
	step := b.Variable("global_step", graph.Type{DType: graph.Int64})
	count := b.Node("AssignAddVariableOp", "count", nil, nil, step, b.Scalar("one", graph.Int64, 1))
	check(b.Err())

	spec := engine.Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}, Targets: []*graph.Node{count}}
	p, err := engine.Compile(g, spec, dev, vars, engine.Options{Capacity: 32})
	check(err)
	feed, err := graph.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	check(err)
	check(p.Run(context.Background(), 2, []*graph.Tensor{feed}))
	fmt.Println(p.Value(0).Shape, graph.Of[float32](p.Value(0)))

	n, err := vars.Get("global_step")
	check(err)
	fmt.Println("runs:", graph.Of[int64](n)[0])
	// Output:
	// [2 2] [3 6 9 12]
	// runs: 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
