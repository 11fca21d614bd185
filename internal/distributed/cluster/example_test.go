package cluster_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// A parameter server answers a worker's call. NewLocal keeps the example off
// the network; tasks of a real job use Open.
func Example() {
	worker, ps := cluster.Task{Job: "worker"}, cluster.Task{Job: "ps"}
	nodes, _ := cluster.NewLocal(worker, ps)
	defer nodes[worker].Close()
	defer nodes[ps].Close()

	reverse := func(ctx context.Context, req *cluster.Frame) (*cluster.Frame, error) {
		body := make([]byte, req.Len())
		req.CopyTo(body, 0)
		for i, j := 0, len(body)-1; i < j; i, j = i+1, j-1 {
			body[i], body[j] = body[j], body[i]
		}
		caller, _ := cluster.PeerOf(ctx)
		return &cluster.Frame{Header: []byte(caller.Task.String()), Body: [][]byte{body}}, nil
	}
	err := nodes[ps].Register(cluster.Service{Name: "example.Strings", Unary: map[string]cluster.Handler{"Reverse": reverse}})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodes[ps].Serve()

	f, err := nodes[worker].Call(context.Background(), ps, "/example.Strings/Reverse", &cluster.Frame{Body: [][]byte{[]byte("drawer")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Release()
	fmt.Printf("%s asked for %s\n", f.Header, f.Body[0])
	// Output: /job:worker/task:0 asked for reward
}
