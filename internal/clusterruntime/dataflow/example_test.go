package dataflow_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// printer prints the values that a graph sends.
type printer struct{}

func (printer) Send(key rendezvous.Key, item rendezvous.Item) error {
	fmt.Println(key.Edge, item.Tensor.Float(0))
	return nil
}

func (printer) Recv(context.Context, rendezvous.Key) (rendezvous.Item, error) {
	return rendezvous.Item{}, context.Canceled
}

func Example() {
	b := graph.NewBuilder(graph.New())
	two := b.Const("two", tensor.Scalar(float32(2)))
	four := b.Op("Mul", "four", two.Type(), nil, two, two)
	b.Node("_Send", "send", nil, graph.Attrs{"tensor_name": []byte("four:0")}, four)
	p, err := dataflow.Compile(b.Graph, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background(), dataflow.Step{Env: &eager.Env{}, Rendezvous: printer{}}))
	// Output:
	// four:0 4
	// <nil>
}
