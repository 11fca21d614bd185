package remote_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/tensor"
)

// doubler has one function, which doubles a number.
type doubler struct{}

func (doubler) Begin(context.Context) error             { return nil }
func (doubler) Make(context.Context, int, string) error { return nil }
func (doubler) End()                                    {}

func (doubler) Run(_ context.Context, c remote.Call) ([]*tensor.Tensor, error) {
	return []*tensor.Tensor{tensor.Scalar(2 * c.Args[0].Tensor.Int(0))}, nil
}

// Two workers double numbers.
func Example() {
	chief := cluster.Task{Job: "chief"}
	tasks := []cluster.Task{{Job: "worker", Index: 0}, {Job: "worker", Index: 1}}
	nodes, _ := cluster.NewLocal(append(tasks, chief)...) // in one process; cluster.Open makes real ones
	var workers []remote.Worker
	for _, t := range tasks {
		s := remote.NewServer()
		s.Attach(doubler{})
		if err := nodes[t].Register(s.Service()); err != nil {
			log.Fatal(err)
		}
		nodes[t].Serve()
		defer nodes[t].Close()
		workers = append(workers, remote.NewClient(nodes[chief], t))
	}
	defer nodes[chief].Close()
	ctx := context.Background()
	c := remote.Start(workers, remote.Options{})
	defer c.Close(ctx)
	for n := range int64(3) {
		v, err := c.Schedule(ctx, remote.Call{Function: "double", Args: []remote.Arg{{Tensor: tensor.Scalar(n)}}})
		if err != nil {
			log.Fatal(err)
		}
		out, err := v.Fetch(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(out[0].Int(0))
	}
	// Output:
	// 0
	// 2
	// 4
}
