package keyvalue_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
)

// The leader serves a Store; two workers meet through it.
func Example() {
	leader := cluster.Task{Job: "chief"}
	workers := []cluster.Task{{Job: "worker", Index: 0}, {Job: "worker", Index: 1}}
	nodes, _ := cluster.NewLocal(append(workers, leader)...)
	if err := nodes[leader].Register(keyvalue.NewStore(keyvalue.Options{}).Service()); err != nil {
		panic(err)
	}
	nodes[leader].Serve()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	var all sync.WaitGroup
	lines := make([]string, len(workers))
	for rank, task := range workers {
		all.Go(func() {
			store := keyvalue.NewClient(nodes[task], leader)
			values, err := store.Gather(ctx, keyvalue.Gather{Name: "hosts", Rank: rank, Size: len(workers), Value: fmt.Append(nil, "host", rank)})
			lines[rank] = fmt.Sprintf("rank %d: %s %v", rank, values, err)
		})
	}
	all.Wait()
	for _, line := range lines {
		fmt.Println(line)
	}
	for _, n := range nodes {
		n.Close()
	}
	// Output:
	// rank 0: [host0 host1] <nil>
	// rank 1: [host0 host1] <nil>
}
