package estimator_test

import (
	"math"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// oddModel has batch normalization and dropout, and unusual variables: a scalar, a
// float64, an untrained and an unread one.
func oddModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	c := mc.Core()
	scale := c.Variable("scale", nil, models.WithInit(initializers.Ones()))
	shift := c.Variable("shift", []int{1}, models.WithDType(tensor.Float64), models.WithInit(initializers.Zeros()))
	c.Variable("fixed", []int{2, 3}, models.NonTrainable())
	c.Variable("unread", []int{5})
	x := layers.Dense(mc, features.Dense("x"), 16, layers.Weights{Activation: func(c models.Context, x *G.Node) *G.Node { return ops.Tanh(c, x) }})
	x = layers.BatchNorm(mc, x, layers.Norm{})
	x = layers.Dropout(mc, x, 0.3)
	x = ops.Add(mc, ops.Mul(mc, x, scale), ops.Cast(mc, shift, tensor.Float32))
	spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), layers.Dense(mc, x, 3, layers.Weights{}), losses.Options{})}
	if mc.Mode() == models.Train {
		o := optimizers.Adam(0.01)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// TestReplicasAreTheSameEverywhere: replicas of one process, workers in a ring and
// workers with parameter servers have the same dropout. They normalize their own
// batches, and average the variables that are not trained.
func TestReplicasAreTheSameEverywhere(t *testing.T) {
	train := func(s runconfig.Strategy, workers, servers int) map[string]*tensor.Tensor {
		dir := t.TempDir()
		for _, r := range trainCluster(t, dir, workers, servers, s, func(_ int, m *member) {
			m.fn, m.opts = estimator.ModelFunc(oddModel), []estimator.TrainOption{estimator.MaxSteps(50)}
		}) {
			if r.err != nil {
				t.Fatalf("%s: %v", r.task, r.err)
			}
		}
		e := custom(t, estimator.ModelFunc(oddModel), dir)
		names, err := e.VariableNames()
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*tensor.Tensor{}
		for _, name := range names {
			if values[name], err = e.VariableValue(name); err != nil {
				t.Fatal(err)
			}
		}
		return values
	}
	want := train(runconfig.Strategy{Name: "mirrored", Replicas: 2}, 1, 0)
	for _, c := range synchronous {
		t.Run(c.name, func(t *testing.T) {
			got := train(c.s, 2, c.servers)
			if len(got) != len(want) {
				t.Errorf("%d variables, expected %d", len(got), len(want))
			}
			for name, w := range want {
				for i := range w.Len() {
					if math.Abs(got[name].Float(i)-w.Float(i)) > 1e-4*max(1, math.Abs(w.Float(i))) {
						t.Errorf("%s: element %d is %v, in replicas of one process %v", name, i, got[name].Float(i), w.Float(i))
						break
					}
				}
			}
		})
	}
}
