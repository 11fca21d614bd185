package partition_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	var c partition.Cluster
	for _, name := range []string{"/job:worker/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:0/device:CPU:0"} {
		n, _ := device.Parse(name)
		c.Devices = append(c.Devices, partition.Device{Name: n})
	}
	c.Client = c.Devices[0]
	b := graph.NewBuilder(graph.New())
	two := b.Const("two", tensor.Scalar(float32(2)))
	two.Node.Device = "/job:ps"
	b.Op("Neg", "minus", two.Type(), nil, two)
	parts, err := partition.Divide(b.Graph, partition.Request{Fetches: []string{"minus:0"}}, c)
	for _, p := range parts {
		for _, n := range p.Graph.Nodes() {
			fmt.Println(p.Task, n.Op)
		}
	}
	fmt.Println(err)
	// Output:
	// /job:worker/replica:0/task:0 Neg
	// /job:worker/replica:0/task:0 _Recv
	// /job:worker/replica:0/task:0 _Send
	// /job:ps/replica:0/task:0 Const
	// /job:ps/replica:0/task:0 _Send
	// <nil>
}
