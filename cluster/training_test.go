package cluster_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const (
	rows  = 8 // of a batch
	steps = 6
)

// network is a small network with an embedding, batch normalization and dropout.
func network(c models.Context, x, id, y *G.Node) *G.Node {
	h := layers.Dense(c, x, 6, layers.Weights{})
	h = layers.BatchNorm(c, h, layers.Norm{})
	h = layers.Activate(c, h, "relu")
	h = layers.Dropout(c, h, 0.25)
	e := layers.Embedding(c, id, 5, 6, layers.Weights{})
	logits := layers.Dense(c, ops.Add(c, h, e), 3, layers.Weights{})
	return losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{})
}

// data are the batches of all steps.
func data() (x []float32, id, y []int64) {
	r := rand.New(rand.NewPCG(1, 2))
	for range steps * rows {
		x = append(x, r.Float32(), r.Float32(), r.Float32(), r.Float32())
		id, y = append(id, r.Int64N(5)), append(y, r.Int64N(3))
	}
	return x, id, y
}

// alone trains in one process, by one of this project's strategies.
func alone(t *testing.T, o *optimizers.Optimizer) (trained []float64) {
	t.Helper()
	rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(7))
	if err != nil {
		t.Fatal(err)
	}
	s, err := distribute.New(rc)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	x, id, y := data()
	set, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 4), inputs.Slice("id", inputs.Feature, id), inputs.Slice("y", inputs.Label, y))
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Distribute(set, rows, distribute.ShardOff)
	if err != nil {
		t.Fatal(err)
	}
	train, err := s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		loss := network(c, c.Arg("x", tensor.Float32, 4), c.Arg("id", tensor.Int64), c.Arg("y", tensor.Int64))
		return distribute.Outputs{Loss: loss, Train: o.Minimize(c, loss)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	it, err := all.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for {
		batch, err := it.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return trained
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := train.Run(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		trained = append(trained, out.Loss())
	}
}

// TestTrainsAsOneProcess: every optimizer gives the same losses on a cluster as in one process, even with random ops.
func TestTrainsAsOneProcess(t *testing.T) {
	servers := start(t, map[string]int{"worker": 1, "ps": 2})
	for _, name := range optimizers.Names() {
		t.Run(name, func(t *testing.T) {
			make := func() *optimizers.Optimizer {
				o, err := optimizers.New(name, map[string]any{"learning_rate": 0.05})
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			want := alone(t, make())
			g, err := cluster.Build(cluster.Options{Seed: 7}, func(b *cluster.Builder) error {
				b.Device(&cluster.ReplicaDeviceSetter{PSTasks: 2, Strategy: &cluster.GreedyLoadBalancing{}}, func() {
					loss := network(b, b.Input("x", tensor.Float32, b.Batch(), 4), b.Input("id", tensor.Int64, b.Batch()), b.Input("y", tensor.Int64, b.Batch()))
					b.Fetch("loss", loss)
					b.Train("train", make().Minimize(b, loss))
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Reset(t.Context(), servers.Target("worker", 0), nil); err != nil {
				t.Fatal(err)
			}
			s := dial(t, servers.Target("worker", 0), g)
			if err := s.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
			x, id, y := data()
			for i := range steps {
				feed := cluster.Feeds{"x": rowsOf(t, x, i, 4), "id": rowsOf(t, id, i), "y": rowsOf(t, y, i)}
				out, err := s.Run(t.Context(), feed, []string{"loss"}, "train")
				if err != nil {
					t.Fatal(err)
				}
				if got := float64(tensor.Values[float32](out[0])[0]); !(math.Abs(got-want[i]) <= 1e-5) {
					t.Errorf("step %d: loss %v: one process gave %v", i, got, want[i])
				}
			}
		})
	}
}

// rowsOf is batch i of a column.
func rowsOf[T tensor.Element](t *testing.T, v []T, i int, width ...int) *tensor.Tensor {
	t.Helper()
	n := rows * tensor.NumElements(width)
	x, err := tensor.FromSlice(v[i*n:(i+1)*n], append([]int{rows}, width...)...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestTwoPrograms: two programs that build the same graph train the same variables, each from its worker; the second waits for the first.
func TestTwoPrograms(t *testing.T) {
	servers := start(t, map[string]int{"worker": 2, "ps": 2})
	const each = 150
	program := func(worker int) error {
		g, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
			b.Device(&cluster.ReplicaDeviceSetter{PSTasks: 2, Worker: fmt.Sprintf("/job:worker/task:%d", worker)}, func() {
				x, y := b.Input("x", tensor.Float32, b.Batch(), 1), b.Input("y", tensor.Float32, b.Batch(), 1)
				loss := losses.MeanSquaredError(b, y, layers.Dense(b, x, 1, layers.Weights{}), losses.Options{})
				b.Fetch("loss", loss)
				b.Train("train", optimizers.SGD(0.05).Minimize(b, loss))
			})
			return nil
		})
		if err != nil {
			return err
		}
		s, err := cluster.Dial(t.Context(), servers.Target("worker", worker), g, cluster.DeviceFilters("/job:ps", fmt.Sprintf("/job:worker/task:%d", worker)))
		if err != nil {
			return err
		}
		defer s.Close(t.Context())
		if worker == 0 {
			err = s.Initialize(t.Context())
		}
		for missing := []string{"all"}; err == nil && len(missing) > 0; {
			missing, err = s.Uninitialized(t.Context())
		}
		feed := cluster.Feeds{"x": matrix(t, 0, 1, 2), "y": matrix(t, 1, 3, 5)}
		for i := 0; i < each && err == nil; i++ {
			_, err = s.Run(t.Context(), feed, nil, "train")
		}
		return err
	}
	var both sync.WaitGroup
	for worker := range 2 {
		both.Go(func() {
			if err := program(worker); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	g, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
		b.Device(&cluster.ReplicaDeviceSetter{PSTasks: 2}, func() {
			b.Fetch("y", layers.Dense(b, b.Input("x", tensor.Float32, b.Batch(), 1), 1, layers.Weights{}))
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := dial(t, servers.Target("worker", 1), g)
	out, err := s.Run(t.Context(), cluster.Feeds{"x": matrix(t, 3)}, []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	if y := tensor.Values[float32](out[0])[0]; math.Abs(float64(y)-7) > 0.1 {
		t.Errorf("the line gives %v for 3, expected about 7", y)
	}
}

func matrix(t *testing.T, v ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(v, len(v), 1)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
