package inprocess_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/cluster/inprocess"
)

func Example() {
	c, err := inprocess.Start(map[string]int{"worker": 2, "ps": 1})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	s, err := cluster.Dial(context.Background(), c.Target("worker", 1), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	devices, err := s.Devices(context.Background())
	for _, d := range devices {
		fmt.Println(d.Name)
	}
	fmt.Println(err)
	// Output:
	// /job:worker/replica:0/task:1/device:CPU:0
	// /job:ps/replica:0/task:0/device:CPU:0
	// /job:worker/replica:0/task:0/device:CPU:0
	// <nil>
}
