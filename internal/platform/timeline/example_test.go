package timeline_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/timeline"
)

func Example() {
	r, err := timeline.Start(1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, end := timeline.Begin(context.Background(), timeline.Event{Line: timeline.Runs, Name: "model"})
	_, endNode := timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: "dense/MatMul", Op: "MatMul"})
	endNode()
	end()
	for _, e := range r.End().Events {
		fmt.Println(e.Line, e.Name, e.Op)
	}
	// Output:
	// runs dense/MatMul MatMul
	// runs model
}
