package metricgraph_test

import (
	"fmt"
	"log"

	"github.com/goestimator/goestimator/estimator/internal/metricgraph"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// A mean as a variable of two sums, with nodes that update and read it.
func ExampleEmit() {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf()})
	m, err := metricgraph.Emit(b, "metrics/mean/", metrics.NewMean(), x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Variable, m.First.Shape, m.Value.Node.Name, m.Update.Node.Name)
	// Output: metrics/mean/sums [2] metrics/mean/value metrics/mean/update_op
}
