package cluster_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/cluster/inprocess"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// A worker computes gradients; the variables are on two parameter servers.
func Example() {
	servers, err := inprocess.Start(map[string]int{"worker": 1, "ps": 2})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	g, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
		b.Device(&cluster.ReplicaDeviceSetter{PSTasks: 2}, func() {
			x := b.Input("x", tensor.Float32, b.Batch(), 1)
			want := b.Input("want", tensor.Float32, b.Batch(), 1)
			w := b.Variable("w", []int{1, 1}, models.WithInit(initializers.Zeros()))
			bias := b.Variable("bias", []int{1}, models.WithInit(initializers.Zeros()))
			loss := losses.MeanSquaredError(b, want, ops.BiasAdd(b, ops.MatMul(b, x, w), bias), losses.Options{})
			b.Fetch("loss", loss)
			b.Train("train", optimizers.SGD(0.1).Minimize(b, loss))
		})
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	s, err := cluster.Dial(ctx, servers.Target("worker", 0), g)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)
	if err := s.Initialize(ctx); err != nil {
		log.Fatal(err)
	}
	x, _ := tensor.FromSlice([]float32{0, 1, 2}, 3, 1)
	want, _ := tensor.FromSlice([]float32{1, 3, 5}, 3, 1)
	for range 200 {
		if _, err := s.Run(ctx, cluster.Feeds{"x": x, "want": want}, nil, "train"); err != nil {
			log.Fatal(err)
		}
	}
	values, err := s.Values(ctx, "w", "bias", "global_step")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f %.2f %v\n", tensor.Values[float32](values["w"]), tensor.Values[float32](values["bias"]), tensor.Values[int64](values["global_step"]))
	// Output: [2.00] [1.00] [200]
}
