package rendezvous_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	key := rendezvous.Key{From: "/job:a/replica:0/task:0/device:CPU:0", To: "/job:b/replica:0/task:0/device:CPU:0", Edge: "x:0", Iteration: rendezvous.Outside}
	step := rendezvous.New()
	if err := step.Send(key.String(), rendezvous.Item{Tensor: tensor.Scalar(float32(2))}); err != nil {
		fmt.Println(err)
	}
	item, err := step.Recv(context.Background(), key.String())
	fmt.Println(item.Tensor.Float(0), err)
	// Output: 2 <nil>
}
