package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// synchronous are all ways in which several replicas make one step.
var synchronous = []setup{
	{"one_device", runconfig.Strategy{Name: "one_device", Device: "/cpu:0"}, 1, 0},
	{"mirrored 2", runconfig.Strategy{Name: "mirrored", Replicas: 2}, 1, 0},
	{"mirrored 3", runconfig.Strategy{Name: "mirrored", Replicas: 3}, 1, 0},
	{"mirrored 4", runconfig.Strategy{Name: "mirrored", Replicas: 4}, 1, 0},
	{"central_storage 2", runconfig.Strategy{Name: "central_storage", Replicas: 2}, 1, 0},
	{"multi_worker_mirrored 2", runconfig.Strategy{Name: "multi_worker_mirrored"}, 2, 0},
	{"multi_worker_mirrored 3", runconfig.Strategy{Name: "multi_worker_mirrored"}, 3, 0},
	{"multi_worker_mirrored 2 with 2 replicas each", runconfig.Strategy{Name: "multi_worker_mirrored", Replicas: 2}, 2, 0},
}

// TestLastBatch: an incomplete last batch makes the same step on several replicas as on one, and metrics count each row once.
func TestLastBatch(t *testing.T) {
	rests := []int{1, 5, 7, 11}
	if testing.Short() {
		rests = rests[1:2]
	}
	for _, rest := range rests {
		rows := toyBatch*2 + rest
		want := setups[0].trained(t, t.TempDir(), adam, rows)
		for _, c := range synchronous {
			t.Run(fmt.Sprint(c.name, " rest ", rest), func(t *testing.T) {
				compareTraces(t, want, c.trained(t, t.TempDir(), adam, rows), 1e-5)
			})
		}
	}
}

// TestSynchronousServersEqualOne: synchronous workers with parameter servers make the same steps as one replica.
func TestSynchronousServersEqualOne(t *testing.T) {
	want := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
	for _, workers := range []int{2, 3} {
		c := setup{"parameter_server sync", runconfig.Strategy{Name: "parameter_server", Sync: true}, workers, 2}
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) (err error) {
				s, err := distribute.New(rc, quiet)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, s.Close(ctx)) }()
				y, err := newToy(s, t, toyBatch*toyBatches, adam())
				if err == nil {
					_, err = y.epoch(ctx)
				}
				for name, w := range want.variables {
					if err != nil || !isModels(name) {
						continue
					}
					var v *tensor.Tensor
					if v, err = s.Variable(name); err == nil {
						compareTraces(t, trace{variables: map[string]*tensor.Tensor{name: w}}, trace{variables: map[string]*tensor.Tensor{name: v}}, 1e-5)
					}
				}
				return err
			})
		})
	}
}

// averages trains a network with batch normalization and dropout for some steps, and returns its variables.
func (c setup) averages(t *testing.T) map[string]*tensor.Tensor {
	t.Helper()
	var mu sync.Mutex
	all := map[string]*tensor.Tensor{}
	c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) (err error) {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close(ctx)) }()
		f, err := s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
			x := c.Arg("x", tensor.Float32, 6)
			loss := losses.SparseSoftmaxCrossEntropy(c, c.Arg("y", tensor.Int32), layers.Dense(c, x, toyClasses, layers.Weights{}), losses.Options{})
			beside := layers.Dropout(c, layers.BatchNorm(c, x, layers.Norm{Momentum: 0.5}), 0.5)
			return distribute.Outputs{Loss: loss, Train: optimizers.SGD(0.1).Minimize(c, loss), Values: map[string]*G.Node{"beside": beside}}, nil
		})
		if err != nil {
			return err
		}
		in, err := s.Distribute(toyData(t, toyBatch*toyBatches), toyBatch, distribute.ShardAuto)
		if err == nil {
			err = each(ctx, f, in)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, name := range s.VariableNames() {
			if err == nil && !strings.HasSuffix(name, "moving_variance") { // variances are only over each replica's rows
				all[name], err = s.Variable(name)
			}
		}
		return err
	})
	return all
}

// TestAverages: the moving means of batch normalization are over all rows, and dropout outside of the loss changes nothing.
func TestAverages(t *testing.T) {
	want := setups[0].averages(t)
	if m := want["batch_normalization/moving_mean"]; m == nil || m.Float(0) == 0 {
		t.Fatalf("moving mean %v: expected it to move", m)
	}
	for _, c := range synchronous {
		t.Run(c.name, func(t *testing.T) {
			compareTraces(t, trace{variables: want}, trace{variables: c.averages(t)}, 1e-5)
		})
	}
}
