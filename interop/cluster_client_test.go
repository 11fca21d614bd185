package interop_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// goClient trains with sessions of package cluster and each optimizer, and returns the losses.
func goClient(t *testing.T, c *testCluster) string {
	var lines strings.Builder
	target := "grpc://" + c.addresses["worker"][0]
	for _, name := range optimizers.Names() {
		text, err := json.Marshal([]any{name, clientLosses(t, target, name)})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	return lines.String()
}

// clientLosses trains a network with an embedding, batch normalization and dropout on a worker and two parameter servers.
func clientLosses(t *testing.T, target, optimizer string) (all []float64) {
	t.Helper()
	g, err := cluster.Build(cluster.Options{Seed: 3}, func(b *cluster.Builder) error {
		o, err := optimizers.New(optimizer, map[string]any{"learning_rate": 0.05})
		if err != nil {
			return err
		}
		b.Device(&cluster.ReplicaDeviceSetter{PSTasks: 2}, func() {
			h := layers.Activate(b, layers.BatchNorm(b, layers.Dense(b, b.Input("x", tensor.Float32, b.Batch(), 4), 6, layers.Weights{}), layers.Norm{}), "relu")
			h = layers.Dropout(b, h, 0.25)
			h = ops.Add(b, h, layers.Embedding(b, b.Input("id", tensor.Int64, b.Batch()), 5, 6, layers.Weights{}))
			loss := losses.SparseSoftmaxCrossEntropy(b, b.Input("y", tensor.Int64, b.Batch()), layers.Dense(b, h, 3, layers.Weights{}), losses.Options{})
			b.Fetch("loss", loss)
			b.Train("train", o.Minimize(b, loss))
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), hostedTime(t))
	defer stop()
	if err := cluster.Reset(ctx, target, nil); err != nil {
		t.Fatal(err)
	}
	s, err := cluster.Dial(ctx, target, g)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	if err := s.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		x, id, y := tensor.New(tensor.Float32, 8, 4), tensor.New(tensor.Int64, 8), tensor.New(tensor.Int64, 8)
		for i := range tensor.Values[float32](x) {
			tensor.Values[float32](x)[i] = r.Float32()
		}
		for i := range 8 {
			tensor.Values[int64](id)[i], tensor.Values[int64](y)[i] = r.Int64N(5), r.Int64N(3)
		}
		out, err := s.Run(ctx, cluster.Feeds{"x": x, "id": id, "y": y}, []string{"loss"}, "train")
		if err != nil {
			t.Fatalf("%s: %v", optimizer, err)
		}
		all = append(all, float64(tensor.Values[float32](out[0])[0]))
	}
	return all
}
