package trace_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// A function is built at two sizes; the graph of both runs at any.
func Example() {
	var out graph.Output
	at := func(batch int) (t *trace.Tracing, err error) {
		_, err = models.Build(models.Options{Mode: models.Predict, Batch: batch}, func(b *models.Builder) error {
			y := ops.Tanh(b, b.Input("x", tensor.Float32, b.Batch(), 3))
			if t, err = trace.New(b, nil); err != nil {
				return err
			}
			t.Add(y, "y", &out)
			return t.Lower(b)
		})
		return t, err
	}
	first, err := at(trace.FirstBatch)
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := at(trace.SecondBatch)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := trace.Unify(first, second); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Shape().At(2), out.Shape().At(5))
	// Output: [2 3] [5 3]
}
