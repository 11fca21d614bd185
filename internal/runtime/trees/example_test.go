package trees_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/trees"
)

func Example() {
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	y := []float32{0, 0, 0, 0, 0, 1, 1, 1}
	sketch := trees.NewSketch(0.01)
	sketch.Push(x, 1, nil)
	space, err := trees.NewSpace([]trees.Feature{{Name: "x", Boundaries: sketch.Boundaries(100)}}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := &trees.Config{Trees: 20, Depth: 1, LearningRate: 0.5, Dim: 1}
	e := trees.NewEnsemble(c)
	t, err := trees.NewTrainer(c, space, e, x, len(y), &trees.Squared{Labels: y, Dim: 1})
	for err == nil && !e.Done(c) {
		err = t.Layer()
	}
	out := make([]float32, len(y))
	e.Predict(c, x, len(y), 1, out)
	fmt.Printf("%.2f %v\n", out, err)
	fmt.Println("split at", e.Threshold[0])
	// Output:
	// [0.00 0.00 0.00 0.00 0.00 1.00 1.00 1.00] <nil>
	// split at 6
}
