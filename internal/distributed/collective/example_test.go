package collective_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/tensor"
)

// Two workers average their gradients.
func Example() {
	tasks := []cluster.Task{{Job: "worker", Index: 0}, {Job: "worker", Index: 1}}
	nodes, _ := cluster.NewLocal(tasks...) // in one process; cluster.Open makes real ones
	store := keyvalue.NewStore(keyvalue.Options{})
	var workers sync.WaitGroup
	for rank, task := range tasks {
		node := nodes[task]
		endpoint, err := collective.Attach(node)
		if err != nil {
			log.Fatal(err)
		}
		node.Serve()
		workers.Go(func() {
			defer node.Close()
			mean, err := average(endpoint, store, tasks, rank)
			if err != nil {
				log.Fatal(err)
			}
			if rank == 1 {
				fmt.Println(mean)
			}
		})
	}
	workers.Wait()
	// Output: [0.5 10]
}

func average(e *collective.Endpoint, store *keyvalue.Store, tasks []cluster.Task, rank int) ([]float32, error) {
	ctx := context.Background()
	g, err := collective.Form(ctx, collective.Config{Endpoint: e, Store: store, Tasks: tasks, Rank: rank})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	gradient, err := tensor.FromSlice([]float32{float32(rank), 10}, 2)
	if err != nil {
		return nil, err
	}
	err = g.AllReduce(ctx, []*tensor.Tensor{gradient}, collective.Mean)
	return tensor.Values[float32](gradient), err
}
